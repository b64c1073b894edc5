"""From records to rows: which field becomes which column, and text that Postgres cannot hold."""

from datetime import datetime
from typing import Any, NamedTuple

from pydantic import ConfigDict
from sqlalchemy import Table

from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.base import JsonValue, Record, clean_json
from bench_assets.contracts.comparison import TransitionRow
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.outcome import OUTCOMES, Label, Outcome
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.contracts.score import ScoreRecord
from bench_assets.errors import InvalidAgent, StorageFailed
from bench_assets.storage.payload import Stored
from bench_assets.storage.postgres import schema

__all__ = [
    "AnswerColumns",
    "ExecutionRow",
    "Row",
    "Stored",
    "clean_row",
    "execution_row",
    "gate_row",
    "metrics_row",
    "run_row",
    "transition_row",
    "without_nul",
]

Row = dict[str, Any]
"""Values by column."""


class ExecutionRow(NamedTuple):
    """One planned (question, repetition) of a run, answered and scored or not: one row of `executions`.

    No Record, as there may be millions, each made of two records that were checked when they were read.
    """

    execution_id: str
    question_id: str
    repetition: int
    """From 1."""
    outcome: Outcome
    label: Label | None
    """None when there is no verdict."""
    value: float | None
    """As in `scores.jsonl`; None when there is no verdict."""
    question: str | None
    """None when the execution is missing and nobody looked its question up."""
    answer: str | None
    """None where the agent gave none."""
    golden: str | list[str] | None
    """None as for `question`."""
    method: str
    judge: str
    """Digest of the judge's identity."""
    reason: str
    error_kind: str | None
    """The agent's kind of error, or the judge's code; None where neither failed."""
    error_message: str | None
    duration_ms: int | None
    """Of the last attempt; None when the question was never asked."""
    attempts: int | None
    """How many attempts it took; None when the question was never asked."""
    started_at: str | None
    """ISO 8601, UTC, microseconds; None when the question was never asked."""
    usage: dict[str, JsonValue] | None
    """The agent's tokens or money."""
    meta: dict[str, JsonValue] | None
    """Whatever else the adapter reported."""
    reused_from: str | None
    """The run that the answer was first given in; None where it was this one."""
    cached: bool
    """True when the verdict came from an earlier one on the same content."""
    judge_usage: dict[str, int] | None
    """The judge's tokens; None where none were spent or reported."""


class _AnswerError(Record):
    model_config = ConfigDict(extra="ignore")

    kind: str
    message: str


class AnswerColumns(Record):
    """What a row takes of an `AnswerRecord`. The rest of its line, which may be a long trajectory, is passed over."""

    model_config = ConfigDict(extra="ignore")

    execution_id: str
    id: str
    question: str
    answer: str | None
    golden: str | list[str]
    error: _AnswerError | None = None
    duration_ms: int
    attempt: int
    started_at: str
    usage: dict[str, JsonValue] | None = None
    meta: dict[str, JsonValue] | None = None
    reused_from: str | None = None


def execution_row(answer: AnswerRecord | AnswerColumns | None, score: ScoreRecord) -> ExecutionRow:
    """Join the two records of one execution; `answer` is None for one that was never settled.

    Raises:
        StorageFailed: when they belong to different executions.
    """
    texts: tuple[Any, ...] = _NO_TEXTS
    facts: tuple[Any, ...] = _NO_FACTS
    kind = message = None
    if answer is not None and answer.execution_id != score.execution_id:
        raise StorageFailed(
            f"The score of question `{score.id}` belongs to another execution than the answer beside it "
            f"(`{answer.id}`). Materialize `scores` again."
        )
    if answer is not None:
        if answer.error is not None:
            kind, message = str(answer.error.kind), answer.error.message
        texts = (answer.question, answer.answer, answer.golden)
        facts = (
            answer.duration_ms,
            answer.attempt,
            answer.started_at,
            answer.usage,
            answer.meta,
            answer.reused_from,
        )
    if score.error is not None:
        kind, message = score.error.code, score.error.message
    # By place: with their names it takes five times as long to put the values together.
    return ExecutionRow._make(
        (
            score.execution_id,
            score.id,
            score.repetition,
            score.outcome,
            score.label,
            score.value,
            *texts,
            score.method,
            score.judge,
            score.reason,
            kind,
            message,
            *facts,
            score.cached,
            score.usage,
        )
    )


_NO_TEXTS = (None,) * 3
_NO_FACTS = (None,) * 6


def run_row(run: RunRecord) -> Row:
    """Return the row of `runs`, without its payload's digest."""
    agent, ref, variant = _candidate_parts(run.candidate)
    judge = run.judge_identity
    return clean_row(
        _same_names(schema.runs, run)
        | {
            "agent": agent,
            "ref": ref,
            "variant": variant,
            "start_time": datetime.fromisoformat(run.start_time),
            "finish_time": datetime.fromisoformat(run.finish_time) if run.finish_time else None,
            "row_limit": run.limit,
            "environment_fingerprint": run.environment.fingerprint,
            "python": run.environment.python,
            "judge_method": judge.method if judge else None,
            "judge_model": judge.model if judge else None,
            "judge_digest": judge.digest if judge else None,
            "record": run.to_json(),
        }
    )


def metrics_row(run_id: str, summary: Summary) -> Row:
    """Return the row of `run_metrics`."""
    interval, latency = summary.interval, summary.latency_ms
    return clean_row(
        _same_names(schema.run_metrics, summary)
        | {str(outcome): summary.outcomes.get(outcome, 0) for outcome in OUTCOMES if outcome != "correct"}
        | {f"interval_{end}": getattr(interval, end) if interval else None for end in ("low", "high")}
        | {f"latency_{q}_ms": getattr(latency, q) if latency else None for q in ("p50", "p90", "p99", "max")}
        | {"run_id": run_id, "record": summary.to_json()}
    )


def gate_row(decision: GateDecision) -> Row:
    """Return the row of `gates`. Without a baseline `baseline_run_id` is empty, as a key is never NULL."""
    interval = decision.interval
    return clean_row(
        {
            "run_id": decision.run_id,
            "baseline_run_id": decision.baseline_run_id or "",
            "baseline": decision.baseline,
            "verdict": decision.verdict,
            "comparable": decision.comparable,
            "delta": decision.delta,
            "delta_low": interval.low if interval else None,
            "delta_high": interval.high if interval else None,
            "p_value": decision.p_value,
            "n": decision.n,
            "reasons": decision.reasons,
            "decided_at": datetime.fromisoformat(decision.decided_at),
            "record": decision.to_json(),
        }
    )


def transition_row(transition: TransitionRow, *, run_id: str, baseline_run_id: str) -> Row:
    """Return the row of `transitions` of one question."""
    return clean_row(
        {
            "run_id": run_id,
            "baseline_run_id": baseline_run_id,
            "question_id": transition.id,
            "kind": transition.kind,
            "baseline_outcome": transition.baseline_outcome,
            "outcome": transition.candidate_outcome,
            "baseline_score": transition.baseline_score,
            "score": transition.candidate_score,
        }
    )


def _same_names(table: Table, record: Record) -> Row:
    fields = type(record).model_fields
    return {column.name: getattr(record, column.name) for column in table.columns if column.name in fields}


def clean_row(row: Row) -> Row:
    """Return `row` with values that Postgres can hold: no NUL, no lone surrogate, no NaN inside JSON."""
    return {
        name: value if isinstance(value, datetime) else without_nul(clean_json(value)) for name, value in row.items()
    }


def without_nul(value: JsonValue) -> JsonValue:
    """Return clean JSON values with each NUL character replaced by U+FFFD: neither text nor jsonb can hold one."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {without_nul(key): without_nul(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_nul(item) for item in value]
    return value


def _candidate_parts(candidate: str) -> tuple[str, str | None, str | None]:
    try:
        key = CandidateKey.parse(candidate)
    except InvalidAgent:  # rows of a run are worth more than the parts of its candidate's name
        return candidate, None, None
    return key.agent, key.ref, key.variant
