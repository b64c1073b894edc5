"""The judge in force: what the benchmark says, with what this machine's environment lays over it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from bench_assets.contracts.base import JsonValue, first_fault
from bench_assets.contracts.benchmark import SECRET_ENDINGS, JudgeSpec
from bench_assets.contracts.score import JudgeIdentity
from bench_assets.errors import InvalidJudge
from bench_assets.judging.endpoint import JudgeEndpoint, endpoint_of
from bench_assets.judging.identity import MATCHER_SETTINGS, llm_identity, matcher_identity
from bench_assets.judging.llm.prompt import prompt_digest
from bench_assets.redaction import redact_settings

OVERRIDES = ("BENCH_LLM_JUDGE_KWARGS", "BENCHER_LLM_JUDGE_KWARGS")
"""Variables with a JSON object laid over the spec of an LLM judge. The first that is set counts."""

NAMED_IN_IDENTITY = frozenset({"type", "provider", "model", "system_prompt", "rubric"})
"""Settings that have a place of their own in the identity."""

NOT_IN_IDENTITY = frozenset({"api_key_env", "timeout", "retries", "retry_backoff_sec", "max_wait", "concurrency"})
"""Settings that decide whether and how fast a verdict comes, not which."""

OF_MATCHERS = frozenset(name for names in MATCHER_SETTINGS.values() for name in names)
"""Settings that an LLM judge does not look at."""

OURS = frozenset({"messages", "stream", "n"})
"""Parameters of a request that the judge itself decides."""


@dataclass(frozen=True, kw_only=True)
class EffectiveJudge:
    """The judge in force. Its repr shows no secret."""

    spec: JudgeSpec
    """The settings without anything secret."""
    identity: JudgeIdentity
    endpoint: JudgeEndpoint | None = field(default=None, repr=False)
    """Where an LLM judge is asked, and with which secrets; None for matchers."""

    def redacted(self) -> dict[str, JsonValue]:
        """Return every setting in force for run.json, secrets replaced by `***`; what is None is left out."""
        if self.endpoint is None:
            return {name: getattr(self.spec, name) for name in ("type", *MATCHER_SETTINGS[self.spec.type])}
        settings = self.spec.model_dump(mode="json", exclude=set(OF_MATCHERS), exclude_none=True)
        return redact_settings(settings | dict(self.endpoint.given_secrets) | {"base_url": self.endpoint.base_url})


def effective_judge(spec: JudgeSpec, *, environ: Mapping[str, str], need_key: bool = True) -> EffectiveJudge:
    """Return the judge that `spec` and the environment's variables make.

    For `type: llm` the JSON object in BENCH_LLM_JUDGE_KWARGS (or the older BENCHER_LLM_JUDGE_KWARGS) is laid over the
    spec, key by key. Keys that we do not know are sent along with each request. `api_key`, `headers` and whatever else
    names a secret are kept out of the spec, the identity and everything written. Matchers take no overrides.

    With `need_key=False` a missing key is no error: enough to name the judge, not to ask it.

    Raises InvalidJudge when the result cannot judge: the variable holds no JSON object, no key is set, a value does
    not fit.
    """
    if spec.is_matcher:
        return EffectiveJudge(spec=spec, identity=matcher_identity(spec))
    name, given = _overrides(environ)
    if given.get("type", "llm") != "llm":
        raise InvalidJudge(f"`{name}` sets `type`, which only a benchmark can. Take `type` out of it.")
    secret = {key: value for key, value in given.items() if _holds_secret(key, value)}
    merged = _merge(spec, {key: value for key, value in given.items() if key not in secret}, source=name)
    endpoint = endpoint_of(merged, secret=secret, environ=environ, need_key=need_key)
    settings = merged.model_dump(
        mode="json", exclude=set(NAMED_IN_IDENTITY | NOT_IN_IDENTITY | OF_MATCHERS), exclude_none=True
    )
    masked = redact_settings(settings | {"base_url": endpoint.base_url} | _without_key(endpoint.given_secrets))
    identity = llm_identity(merged, settings=masked, prompt_digest=prompt_digest(merged))
    return EffectiveJudge(spec=merged, identity=identity, endpoint=endpoint)


def _overrides(environ: Mapping[str, str]) -> tuple[str, dict[str, JsonValue]]:
    name = next((name for name in OVERRIDES if environ.get(name, "").strip()), OVERRIDES[0])
    text = environ.get(name, "").strip()
    if not text:
        return name, {}
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"{error.msg}, at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else "too deep"
        # The text itself may hold a key, so it is not quoted.
        raise InvalidJudge(
            f'`{name}` is not JSON ({where}). It must hold an object, for instance {{"model": "m"}}.'
        ) from None
    if not isinstance(given, dict):
        raise InvalidJudge(f'`{name}` must hold a JSON object, for instance {{"model": "m"}}.')
    return name, given


def _holds_secret(name: str, value: JsonValue) -> bool:
    """True for a setting that must be kept out of the spec: a secret by its name, or with a secret inside."""
    if name in JudgeSpec.model_fields:
        return name == "base_url" and isinstance(value, str) and ("@" in value or "?" in value)
    return name.endswith(SECRET_ENDINGS) or redact_settings({name: value}) != {name: value}


def _without_key(secrets: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in secrets.items() if name not in ("api_key", "base_url")}


def _merge(spec: JudgeSpec, given: Mapping[str, JsonValue], *, source: str) -> JudgeSpec:
    try:
        merged = JudgeSpec.model_validate(spec.model_dump(exclude_unset=True) | dict(given))
    except ValidationError as error:
        raise InvalidJudge(
            f"`{source}` makes the judge's settings invalid: {first_fault(error).removeprefix('Value error, ')}."
        ) from None
    taken = sorted(OURS & set(merged.model_extra or {}))
    if taken:
        raise InvalidJudge(f"The judge's setting `{taken[0]}` cannot be set: bench-assets decides it. Take it out.")
    return merged
