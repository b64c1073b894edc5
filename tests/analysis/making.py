"""Makers of answers with their scores."""

from collections.abc import Iterable

from bench_assets.contracts.answer import AnswerRecord, ErrorInfo
from bench_assets.contracts.outcome import Outcome
from bench_assets.contracts.score import ScoreError, ScoreRecord

Pair = tuple[AnswerRecord, ScoreRecord]


def pair(
    outcome: Outcome,
    *,
    id: str = "q1",  # noqa: A002 - the record's own name
    repetition: int = 1,
    duration_ms: int = 10,
    kind: str = "",
) -> Pair:
    """An answer with its score; `kind` is the kind of its agent error or the code of its judge error."""
    failed = outcome == "agent_error"
    answer = AnswerRecord(
        execution_id=f"{id}-{repetition}",
        id=id,
        repetition=repetition,
        question="?",
        golden="g",
        answer=None if failed else "a",
        error=ErrorInfo(kind=kind or "timeout", message="") if failed else None,  # type: ignore[arg-type]
        duration_ms=duration_ms,
        attempt=1,
        attempts=[],
        started_at="2026-01-01T00:00:00.000000Z",
    )
    score = ScoreRecord(
        id=id,
        value=None if outcome == "judge_error" else float(outcome == "correct"),
        method="exact_match",
        reason="",
        label=outcome if outcome in ("correct", "incorrect", "not_attempted") else None,
        repetition=repetition,
        execution_id=answer.execution_id,
        outcome=outcome,
        judge="0" * 16,
        error=ScoreError(code=kind or "unknown_label", message="") if outcome == "judge_error" else None,
    )
    return answer, score


def pairs(*outcomes: Outcome) -> Iterable[Pair]:
    """One question for each outcome."""
    return [pair(outcome, id=f"q{number}") for number, outcome in enumerate(outcomes)]
