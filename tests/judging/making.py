"""Small makers for the tests of judging."""

from typing import Any

from bench_assets.contracts.answer import AnswerRecord, ErrorInfo
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.score import Verdict
from bench_assets.judging.scorer import JudgeItem, VerdictStore, open_scorer
from bench_assets.judging.settings import EffectiveJudge, effective_judge
from tests.fakes.openai_endpoint import OpenAIEndpoint

KEY = "sk-test-1"


def answer(
    text: str | None,
    *,
    id: str = "q1",  # noqa: A002 - the record's own name
    golden: str | list[str] = "Paris",
    question: str = "Capital of France?",
    repetition: int = 1,
    error: str | None = None,
    duration_ms: int = 10,
) -> AnswerRecord:
    return AnswerRecord(
        execution_id=f"{id}-{repetition}",
        id=id,
        repetition=repetition,
        question=question,
        golden=golden,
        answer=text,
        error=ErrorInfo(kind=error, message="it failed") if error else None,  # type: ignore[arg-type]
        duration_ms=duration_ms,
        attempt=1,
        attempts=[],
        started_at="2026-01-01T00:00:00.000000Z",
    )


def item(text: str = "Paris", *, golden: str | list[str] = "Paris", question: str = "Capital of France?") -> JudgeItem:
    return JudgeItem(execution_id=f"x-{text[:20]}", question=question, golden=golden, answer=text)


def llm_judge(endpoint: OpenAIEndpoint, **settings: Any) -> EffectiveJudge:
    spec = {"type": "llm", "model": "m", "base_url": endpoint.base_url, "timeout": 20, "retry_backoff_sec": 0.01}
    return effective_judge(JudgeSpec(**(spec | settings)), environ={"OPENAI_API_KEY": KEY})


def judge(
    endpoint: OpenAIEndpoint, *items: JudgeItem, verdicts: VerdictStore | None = None, **settings: Any
) -> list[Verdict]:
    """Have items judged one after the other, so that scripted replies meet them in order."""
    with open_scorer(llm_judge(endpoint, **({"concurrency": 1} | settings)), verdicts=verdicts) as scorer:
        return [verdict for _, verdict in scorer.score(items)]
