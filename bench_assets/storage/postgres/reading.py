"""Read runs back: for the command line, for reports, and for anyone who wants to know what was stored."""

from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import Connection, RowMapping, select, text

from bench_assets.contracts.base import Record
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.storage.postgres import schema
from bench_assets.storage.postgres.rows import ExecutionRow

View = TypeVar("View", bound=Record)


class StoredRun(Record):
    """One row of the view `run_history`."""

    run_id: str
    benchmark: str
    candidate: str
    status: str
    start_time: datetime
    finish_time: datetime | None
    description: str
    accuracy: float | None
    """None when nothing was planned."""
    correct: int
    attempted: int
    total: int
    errors: int
    judged: bool
    partial: bool
    accuracy_change: float | None
    """Against the agent's run before it on the same dataset; None where there is none."""
    previous_run_id: str | None


class Standing(Record):
    """One row of the view `leaderboard`."""

    place: int
    """From 1; equal accuracies share a place."""
    benchmark: str
    candidate: str
    run_id: str
    start_time: datetime
    accuracy: float | None
    interval_low: float | None
    interval_high: float | None
    correct: int
    total: int
    errors: int
    notes: str | None
    """What to know before believing the place; None when there is nothing."""


def runs(connection: Connection, benchmark: str | None, candidate: str | None, limit: int) -> list[StoredRun]:
    """Return the newest runs, newest first; None as a filter means any."""
    query = (
        f"SELECT {_columns(StoredRun)} FROM run_history "
        "WHERE (CAST(:benchmark AS text) IS NULL OR benchmark = :benchmark) "
        "AND (CAST(:candidate AS text) IS NULL OR candidate = :candidate) ORDER BY start_time DESC LIMIT :limit"
    )
    filters = {"benchmark": benchmark, "candidate": candidate, "limit": limit}
    return [StoredRun(**row) for row in connection.execute(text(query), filters).mappings()]


def leaderboard(connection: Connection, benchmark: str) -> list[Standing]:
    """Return a benchmark's candidates, the best one first."""
    query = f"SELECT {_columns(Standing)} FROM leaderboard WHERE benchmark = :benchmark ORDER BY place, candidate"
    return [Standing(**row) for row in connection.execute(text(query), {"benchmark": benchmark}).mappings()]


def run(connection: Connection, run_id: str) -> RunRecord | None:
    """Return a run's record; None when it is not stored."""
    record = connection.scalar(select(schema.runs.c.record).where(schema.runs.c.run_id == run_id))
    return None if record is None else RunRecord.from_json(record, source=f"the row of run `{run_id}`")


def metrics(connection: Connection, run_id: str) -> Summary | None:
    """Return a run's figures; None when it is not stored."""
    record = connection.scalar(select(schema.run_metrics.c.record).where(schema.run_metrics.c.run_id == run_id))
    return None if record is None else Summary.from_json(record, source=f"the metrics of run `{run_id}`")


def executions(connection: Connection, run_id: str) -> list[ExecutionRow]:
    """Return a run's executions by question and repetition."""
    table = schema.executions
    columns = [column for column in table.columns if column.name != "run_id"]
    query = select(*columns).where(table.c.run_id == run_id).order_by(table.c.question_id, table.c.repetition)
    return [_execution(row) for row in connection.execute(query).mappings()]


def _execution(row: RowMapping) -> ExecutionRow:
    started: datetime | None = row["started_at"]
    text = None if started is None else started.astimezone(UTC).isoformat(timespec="microseconds")
    return ExecutionRow(**{**row, "started_at": text})


def _columns(view: type[Record]) -> str:
    return ", ".join(view.model_fields)
