"""The pod of a run, composed of its layers. The one place that writes a `dagster-k8s/config` tag."""

import json
from collections.abc import Mapping, Sequence

from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.pod import PodSettings
from bench_assets.errors import InvalidInput
from bench_assets.redaction import HARMLESS_VARIABLES, is_secret_name

CACHE = "/cache"
"""Where the cache's claim is mounted."""
NETRC_MODE = 0o440
"""Git reads it as a member of the pod's group; nobody else may."""

JOINED_MAPS = ("node_selector", "env", "env_secrets")
JOINED_LISTS = ("tolerations", "env_from")


def compose(layers: Sequence[PodSettings]) -> PodSettings:
    """Return one set of settings; later layers win. Raises InvalidInput for a variable that looks like a secret."""
    joined: dict[str, JsonValue] = {}
    for layer in layers:
        for name in layer.model_fields_set:
            value = layer.to_json()[name]
            if name in JOINED_MAPS:
                value = joined.get(name, {}) | value
            elif name in JOINED_LISTS:
                value = [*(item for item in joined.get(name, []) if item not in value), *value]
            joined[name] = value
    pod = PodSettings.from_json(joined, source="the pod's settings")
    for name in pod.env:
        if is_secret_name(name) and name not in HARMLESS_VARIABLES:
            raise InvalidInput(
                f"The pod's variable `{name}` looks like a secret, and `env` is shown in tags. Put it into a "
                "Secret, and name that in `env_from` or `env_secrets`."
            )
    return pod


def read_run_tag(text: str) -> PodSettings:
    """Return the settings that a person gave a run: JSON in its tag `bench/pod`. Raises InvalidInput."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"The tag `bench/pod` is not JSON: {error}.") from error
    return PodSettings.from_json(value, source="the tag `bench/pod`")


def kubernetes_config(pod: PodSettings) -> dict[str, JsonValue]:
    """Return the value of `dagster-k8s/config`; empty when nothing is asked for."""
    container = {
        "image": pod.image,
        "resources": _resources(pod),
        "env_from": [{"secret_ref": {"name": name}} for name in pod.env_from],
        "env": _variables(pod),
        "volume_mounts": _mounts(pod),
    }
    spec = {
        "node_selector": pod.node_selector,
        "tolerations": [_toleration(item.to_json()) for item in pod.tolerations],
        "service_account_name": pod.service_account,
        "volumes": _volumes(pod),
    }
    return _without_empty({"container_config": _without_empty(container), "pod_spec_config": _without_empty(spec)})


def laid_over(ours: Mapping[str, JsonValue], given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return our configuration with what a run says itself on top, key by key of each section."""
    merged = dict(ours)
    for section, values in given.items():
        both = isinstance(values, Mapping) and isinstance(merged.get(section), Mapping)
        merged[section] = {**merged[section], **values} if both else values
    return merged


def _resources(pod: PodSettings) -> dict[str, JsonValue]:
    requests = {"cpu": pod.cpu, "memory": pod.memory, "ephemeral-storage": pod.disk}
    return _without_empty({"requests": _without_empty(requests), "limits": _without_empty({"memory": pod.memory})})


def _variables(pod: PodSettings) -> list[JsonValue]:
    own = {"BENCH_CACHE_DIR": CACHE, "UV_CACHE_DIR": f"{CACHE}/uv"} if pod.cache_claim else {}
    plain = [{"name": name, "value": value} for name, value in (own | pod.env).items()]
    secret = [
        {"name": name, "value_from": {"secret_key_ref": {"name": item.secret, "key": item.key}}}
        for name, item in pod.env_secrets.items()
    ]
    # Kubernetes takes the last of several of one name, and any of them before `env_from`.
    return [*secret, *plain]


def _volumes(pod: PodSettings) -> list[JsonValue]:
    volumes: list[JsonValue] = []
    if pod.netrc_secret:
        items = [{"key": "netrc", "path": ".netrc"}]
        secret = {"secret_name": pod.netrc_secret, "items": items, "default_mode": NETRC_MODE}
        volumes.append({"name": "bench-netrc", "secret": secret})
    if pod.cache_claim:
        volumes.append({"name": "bench-cache", "persistent_volume_claim": {"claim_name": pod.cache_claim}})
    return volumes


def _mounts(pod: PodSettings) -> list[JsonValue]:
    mounts: list[JsonValue] = []
    if pod.netrc_secret:
        path = f"{pod.home.rstrip('/')}/.netrc"
        mounts.append({"name": "bench-netrc", "mount_path": path, "sub_path": ".netrc", "read_only": True})
    if pod.cache_claim:
        mounts.append({"name": "bench-cache", "mount_path": CACHE})
    return mounts


def _toleration(item: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return _without_empty({**item, "operator": "Exists" if item["value"] is None else "Equal"})


def _without_empty(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in values.items() if value not in (None, {}, [])}
