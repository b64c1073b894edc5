"""What makes two verdicts come from the same judge, and two judgements the same."""

from collections.abc import Iterable

from bench_assets.contracts.base import JsonValue, digest
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.score import JudgeIdentity

SCORER_VERSION = 3
"""Raised with every change of our scoring code that can change a verdict."""

MATCHER_SETTINGS: dict[str, tuple[str, ...]] = {
    "exact_match": ("ignore_case",),
    "contains": ("ignore_case",),
    "regex": ("ignore_case",),
    "numeric": ("tolerance", "relative_tolerance"),
    "choice": ("choices",),
    "token_f1": ("threshold",),
    "python": ("function",),
}
"""The settings that each matcher looks at, besides `not_attempted`, which all do."""


def matcher_settings(spec: JudgeSpec) -> dict[str, JsonValue]:
    """Return the settings that a matcher looks at."""
    names = (*MATCHER_SETTINGS[spec.type], *(["not_attempted"] if spec.not_attempted else []))
    return {name: getattr(spec, name) for name in names}


def matcher_identity(spec: JudgeSpec, *, source: str | None = None) -> JudgeIdentity:
    """Return the identity of a matcher: only the settings that it looks at count.

    `source` is the digest of the function of `python`; None for the others.
    """
    return _identity(method=spec.type, settings=matcher_settings(spec) | ({"source": source} if source else {}))


def chain_identity(steps: Iterable[tuple[JudgeIdentity, Iterable[str]]], last: JudgeIdentity) -> JudgeIdentity:
    """Return the identity of a chain: its matchers with what they settle, then the last scorer's own identity."""
    first = [{"matcher": step.to_json(), "settles": sorted(settles)} for step, settles in steps]
    return _identity(
        method=last.method,
        provider=last.provider,
        model=last.model,
        settings=last.settings | {"first": first},
        prompt_digest=last.prompt_digest,
    )


def llm_identity(spec: JudgeSpec, *, settings: dict[str, JsonValue], prompt_digest: str) -> JudgeIdentity:
    """Return the identity of an LLM judge. `settings` is what its endpoint is told, without secrets."""
    return _identity(
        method="llm_judge", provider=spec.provider, model=spec.model, settings=settings, prompt_digest=prompt_digest
    )


def panel_identity(judges: list[JudgeIdentity]) -> JudgeIdentity:
    """Return the identity of a panel: its judges' identities. Their order does not matter."""
    members = sorted((judge.to_json() for judge in judges), key=lambda fields: str(fields["digest"]))
    models = sorted({judge.model or "" for judge in judges})
    return _identity(method="llm_panel", model=", ".join(models), settings={"panel": members})


def _identity(
    *,
    method: str,
    settings: dict[str, JsonValue],
    provider: str | None = None,
    model: str | None = None,
    prompt_digest: str | None = None,
) -> JudgeIdentity:
    unsigned = JudgeIdentity(
        method=method,
        provider=provider,
        model=model,
        settings=settings,
        prompt_digest=prompt_digest,
        scorer_version=SCORER_VERSION,
        digest="",
    )
    return unsigned.model_copy(update={"digest": digest(unsigned.to_json())[:16]})


def verdict_key(identity: JudgeIdentity, *, question: str, golden: str | list[str], answer: str) -> str:
    """Return the key of a verdict: the judge's digest, `/`, and 64 hex digits over the three texts as they are."""
    return f"{identity.digest}/{digest({'question': question, 'golden': golden, 'answer': answer})}"
