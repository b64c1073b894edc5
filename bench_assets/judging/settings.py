"""The judge in force: what the benchmark says, with what this machine's environment lays over it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from bench_assets.contracts.base import JsonValue, first_fault
from bench_assets.contracts.judge import SECRET_ENDINGS, JudgeSpec, MatcherSettings
from bench_assets.contracts.outcome import Label
from bench_assets.contracts.score import JudgeIdentity
from bench_assets.errors import InvalidJudge
from bench_assets.judging.endpoint import JudgeEndpoint, endpoint_of
from bench_assets.judging.functions import MatcherFunction, find_function
from bench_assets.judging.identity import (
    chain_identity,
    llm_identity,
    matcher_identity,
    matcher_settings,
    panel_identity,
)
from bench_assets.judging.llm.budget import Budget
from bench_assets.judging.llm.prompt import prompt_digest
from bench_assets.judging.matchers import spec_fault
from bench_assets.redaction import redact_settings

OVERRIDES = ("BENCH_LLM_JUDGE_KWARGS", "BENCHER_LLM_JUDGE_KWARGS")
"""Variables with a JSON object laid over the spec of an LLM judge. The first that is set counts."""

NAMED_IN_IDENTITY = frozenset({"type", "provider", "model", "system_prompt", "rubric", "examples"})
"""Settings that have a place of their own in the identity."""

NOT_IN_IDENTITY = frozenset(
    {
        *("api_key_env", "ca_bundle", "oauth_url", "scope", "timeout", "retries", "retry_backoff_sec", "max_wait"),
        *("concurrency", "max_judge_calls", "max_judge_tokens", "max_judge_cost", "prices"),
        *("first", "panel"),  # these have identities of their own
    }
)
"""Settings that decide whether, how fast and at what price a verdict comes, not which."""

OF_VOTES = frozenset({"votes", "vote_rule"})
"""Settings that count only where there are several votes."""

OF_MATCHERS = frozenset(MatcherSettings.model_fields)
"""Settings that an LLM judge does not look at."""

OF_THE_WHOLE = frozenset({"panel", "first", "max_judge_calls", "max_judge_tokens", "max_judge_cost", "prices"})
"""Settings that a judge of a panel does not have for itself."""

WHERE = frozenset({"provider", "base_url", "api_key_env", "oauth_url"})
"""Settings that send a judge of a panel elsewhere: to where the others' secrets do not go."""

OURS = frozenset({"messages", "stream", "n"})
"""Parameters of a request that the judge itself decides."""


@dataclass(frozen=True, kw_only=True)
class MatcherInForce:
    """A matcher in force: alone, or as a step of a chain."""

    spec: JudgeSpec
    identity: JudgeIdentity
    function: MatcherFunction | None
    """Of `python`; None for the others."""
    settles: frozenset[Label] = frozenset()
    """In a chain: the labels with which it has the last word."""


@dataclass(frozen=True, kw_only=True)
class EffectiveJudge:
    """The judge in force. Its repr shows no secret."""

    spec: JudgeSpec
    """The settings without anything secret."""
    identity: JudgeIdentity
    """Of the whole: chain, panel and all."""
    own: JudgeIdentity
    """Of what scores when no matcher of a chain has settled an answer; equal to `identity` without a chain."""
    steps: tuple[MatcherInForce, ...] = ()
    """The chain's matchers, in order."""
    matcher: MatcherInForce | None = None
    """None for an LLM judge."""
    endpoint: JudgeEndpoint | None = field(default=None, repr=False)
    """Where an LLM judge is asked, and with which secrets; None for matchers and panels."""
    panel: tuple["EffectiveJudge", ...] = ()
    """The judges of a panel."""

    @property
    def asks_a_model(self) -> bool:
        """True when a verdict may cost something."""
        return self.matcher is None

    @property
    def missing_key(self) -> str | None:
        """The variable that should hold a key and does not; None when nothing is missing."""
        if self.endpoint is not None:
            return self.endpoint.missing_key
        return next((judge.missing_key for judge in self.panel if judge.missing_key), None)

    def redacted(self) -> dict[str, JsonValue]:
        """Return every setting in force for run.json, secrets replaced by `***`; what is None is left out."""
        first = {"first": [step.model_dump(mode="json", exclude_unset=True) for step in self.spec.first]}
        chain = first if self.spec.first else {}
        if self.matcher is not None:
            return {"type": self.spec.type} | matcher_settings(self.spec) | chain
        if self.panel:
            return {"type": "llm", "panel": [judge.redacted() for judge in self.panel]} | chain
        settings = self.spec.model_dump(mode="json", exclude=set(OF_MATCHERS | {"panel", "first"}), exclude_none=True)
        assert self.endpoint is not None
        given = dict(self.endpoint.given_secrets) | {"base_url": self.endpoint.base_url}
        return redact_settings(settings | given) | chain


def effective_judge(
    spec: JudgeSpec, *, environ: Mapping[str, str], need_key: bool = True, folder: Path | None = None
) -> EffectiveJudge:
    """Return the judge that `spec` and the environment's variables make.

    For `type: llm` the JSON object in BENCH_LLM_JUDGE_KWARGS (or the older BENCHER_LLM_JUDGE_KWARGS) is laid over the
    spec, key by key, and then each entry of a `panel` over that. Keys that we do not know are sent along with each
    request. `api_key`, `headers` and whatever else names a secret are kept out of the spec, the identity and everything
    written; a judge of a panel that is asked elsewhere does not get them. Matchers take no overrides.

    With `need_key=False` a missing key is no error: enough to name the judge, not to ask it. `folder` is where the
    functions of `python` matchers are looked for first; None means the current folder.

    Raises InvalidJudge when the result cannot judge: the variable holds no JSON object, no key is set, a value does
    not fit.
    """
    folder = folder or Path.cwd()
    if spec.is_matcher:
        matcher = _matcher(spec, folder=folder)
        judge = EffectiveJudge(spec=spec, identity=matcher.identity, own=matcher.identity, matcher=matcher)
    else:
        name, given = _overrides(environ)
        if given.get("type", "llm") != "llm":
            raise InvalidJudge(f"`{name}` sets `type`, which only a benchmark can. Take `type` out of it.")
        judge = _llm(spec, given, source=f"`{name}`", environ=environ, need_key=need_key)
        Budget(judge.spec)  # says now what it would say after the answers were paid for
    steps = tuple(
        _matcher(step.as_judge(), folder=folder, settles=frozenset(step.settles)) for step in judge.spec.first
    )
    if not steps:
        return judge
    first = [(step.identity, sorted(step.settles)) for step in steps]
    return replace(judge, steps=steps, identity=chain_identity(first, judge.own))


def _matcher(spec: JudgeSpec, *, folder: Path, settles: frozenset[Label] = frozenset()) -> MatcherInForce:
    fault = spec_fault(spec)
    if fault is not None:
        raise InvalidJudge(f"The matcher `{spec.type}` cannot be used: {fault}.")
    function = find_function(spec.function, folder=folder) if spec.function else None
    identity = matcher_identity(spec, source=function.digest if function else None)
    return MatcherInForce(spec=spec, identity=identity, function=function, settles=settles)


def _llm(
    spec: JudgeSpec, given: Mapping[str, JsonValue], *, source: str, environ: Mapping[str, str], need_key: bool
) -> EffectiveJudge:
    secret = {key: value for key, value in given.items() if _holds_secret(key, value)}
    merged = _merge(spec, {key: value for key, value in given.items() if key not in secret}, source=source)
    if merged.panel:
        return _panel(merged, secret, environ=environ, need_key=need_key)
    endpoint = endpoint_of(merged, secret=secret, environ=environ, need_key=need_key)
    left_out = NAMED_IN_IDENTITY | NOT_IN_IDENTITY | OF_MATCHERS | (OF_VOTES if merged.votes == 1 else frozenset())
    settings = merged.model_dump(mode="json", exclude=set(left_out), exclude_none=True)
    masked = redact_settings(settings | {"base_url": endpoint.base_url} | _without_key(endpoint.given_secrets))
    identity = llm_identity(merged, settings=masked, prompt_digest=prompt_digest(merged))
    return EffectiveJudge(spec=merged, identity=identity, own=identity, endpoint=endpoint)


def _panel(
    spec: JudgeSpec, secret: Mapping[str, JsonValue], *, environ: Mapping[str, str], need_key: bool
) -> EffectiveJudge:
    judges = []
    for number, member in enumerate(spec.panel, start=1):
        source = f"`panel` entry {number}"
        if OF_THE_WHOLE & set(member) or "votes" in member or member.get("type", "llm") != "llm":
            raise InvalidJudge(f"The judge's {source} may not set `type`, `votes`, budgets, prices, panels or chains.")
        base = spec.model_dump(exclude_unset=True, exclude=set(OF_THE_WHOLE))
        shared = {} if WHERE & set(member) else secret
        try:
            alone = JudgeSpec.model_validate(base | dict(member))
        except ValidationError as error:
            raise InvalidJudge(f"The judge's {source} does not fit: {first_fault(error)}.") from None
        judges.append(_llm(alone, shared, source=source, environ=environ, need_key=need_key))
    identity = panel_identity([judge.identity for judge in judges])
    if len({judge.identity.digest for judge in judges}) < len(judges):
        raise InvalidJudge("Two judges of the `panel` are the same. Use `votes` to ask one judge several times.")
    return EffectiveJudge(spec=spec, identity=identity, own=identity, panel=tuple(judges))


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
            f"{source} makes the judge's settings invalid: {first_fault(error).removeprefix('Value error, ')}."
        ) from None
    taken = sorted(OURS & set(merged.model_extra or {}))
    if taken:
        raise InvalidJudge(f"The judge's setting `{taken[0]}` cannot be set: bench-assets decides it. Take it out.")
    return merged
