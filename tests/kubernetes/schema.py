"""Kubernetes' own schema, as its Python client carries it: unknown fields, wrong types and missing ones are faults.

The client's classes are generated from the API's OpenAPI document, so nothing else is needed to check a manifest.
"""

import re
from collections.abc import Iterator
from typing import Any

from kubernetes.client import models

KINDS = {
    "ConfigMap": "V1ConfigMap",
    "CronJob": "V1CronJob",
    "Deployment": "V1Deployment",
    "Job": "V1Job",
    "PersistentVolumeClaim": "V1PersistentVolumeClaim",
    "Role": "V1Role",
    "RoleBinding": "V1RoleBinding",
    "Secret": "V1Secret",
    "Service": "V1Service",
    "ServiceAccount": "V1ServiceAccount",
}
PRIMITIVES = {"str": str, "int": int, "bool": bool, "float": (int, float)}
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")


def faults(manifest: dict[str, Any]) -> list[str]:
    """Return what a server would refuse in a manifest; empty for a good one."""
    kind = manifest.get("kind", "")
    if kind not in KINDS:
        return [f"kind `{kind}` is not known here"]
    found = list(_object(manifest, KINDS[kind], kind))
    metadata = manifest.get("metadata", {})
    if not NAME.fullmatch(metadata.get("name", "")):
        found.append(f"{kind}.metadata.name `{metadata.get('name')}` is no name")
    for key, value in metadata.get("labels", {}).items():
        if len(value) > 63 or not LABEL.fullmatch(value):
            found.append(f"{kind}.metadata.labels.{key} `{value}` is no label")
    return found


def _object(value: Any, name: str, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at} is no mapping"
        return
    model = getattr(models, name)
    types = {camel: model.openapi_types[snake] for snake, camel in model.attribute_map.items()}
    for key, item in value.items():
        if key not in types:
            yield f"{at}.{key} is not a field of {name}"
        elif item is not None:
            yield from _value(item, types[key], f"{at}.{key}")
    for snake, camel in model.attribute_map.items():
        if camel not in value and _is_required(model, snake):
            yield f"{at}.{camel} is missing"


def _value(value: Any, kind: str, at: str) -> Iterator[str]:
    if (of_list := re.fullmatch(r"list\[(.*)\]", kind)) is not None:
        if not isinstance(value, list):
            yield f"{at} is no list"
            return
        for number, item in enumerate(value):
            yield from _value(item, of_list[1], f"{at}[{number}]")
    elif (of_map := re.fullmatch(r"dict[(\[][^,]*,\s*(.*)[)\]]", kind)) is not None:
        if not isinstance(value, dict):
            yield f"{at} is no mapping"
            return
        for key, item in value.items():
            yield from _value(item, of_map[1], f"{at}.{key}")
    elif kind in PRIMITIVES:
        wanted = PRIMITIVES[kind]
        if not isinstance(value, wanted) or (kind != "bool" and isinstance(value, bool)):
            yield f"{at} is no {kind}"
    elif hasattr(models, kind):
        yield from _object(value, kind, at)


def _is_required(model: type, attribute: str) -> bool:
    # The client refuses None for what the API demands.
    try:
        setattr(model.__new__(model), attribute, None)
    except ValueError:
        return True
    except AttributeError:  # no configuration on an instance that was not initialised: it was about to check
        return _refuses_none(model, attribute)
    return False


def _refuses_none(model: type, attribute: str) -> bool:
    from kubernetes.client import Configuration

    instance = model.__new__(model)
    instance.local_vars_configuration = Configuration()
    try:
        setattr(instance, attribute, None)
    except ValueError as error:
        return "must not be `None`" in str(error)
    return False
