"""What makes two verdicts come from the same judge, and two judgements the same."""

from bench_assets.contracts.base import JsonValue, digest
from bench_assets.contracts.benchmark import JudgeSpec
from bench_assets.contracts.score import JudgeIdentity

SCORER_VERSION = 1
"""Raised with every change of our scoring code that can change a verdict."""

MATCHER_SETTINGS: dict[str, tuple[str, ...]] = {
    "exact_match": ("ignore_case",),
    "contains": ("ignore_case",),
    "regex": ("ignore_case",),
    "numeric": ("tolerance", "relative_tolerance"),
    "choice": ("choices",),
}
"""The settings that each matcher looks at."""


def matcher_identity(spec: JudgeSpec) -> JudgeIdentity:
    """Return the identity of a matcher: only the settings that it looks at count."""
    settings = {name: getattr(spec, name) for name in MATCHER_SETTINGS[spec.type]}
    return _identity(method=spec.type, settings=settings)


def llm_identity(spec: JudgeSpec, *, settings: dict[str, JsonValue], prompt_digest: str) -> JudgeIdentity:
    """Return the identity of an LLM judge. `settings` is what its endpoint is told, without secrets."""
    return _identity(
        method="llm_judge", provider=spec.provider, model=spec.model, settings=settings, prompt_digest=prompt_digest
    )


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
