"""Store one run inside a transaction: once, unchanged, or as the continuation of its beginning."""

from collections.abc import Iterable
from itertools import islice

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError

from bench_assets.contracts.base import digest
from bench_assets.contracts.comparison import TransitionRow
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.errors import RunConflict, StorageFailed
from bench_assets.storage.payload import Stored, is_open, run_payload, summary_payload
from bench_assets.storage.postgres import schema
from bench_assets.storage.postgres.copying import RowStream
from bench_assets.storage.postgres.encoding import COLUMNS
from bench_assets.storage.postgres.rows import gate_row, metrics_row, run_row, transition_row

_COPY = f"COPY executions (run_id, {', '.join(COLUMNS)}) FROM STDIN"

TOGETHER = 2_000
"""Transitions that are inserted at once."""

AT_ONCE = 1 << 17
"""Bytes that the driver asks for at once when it reads what is spooled."""


def store(connection: Connection, run: RunRecord, summary: Summary, rows: RowStream) -> Stored:
    """Store a run; see `Database.store_run`. A continuation also takes back comparisons made with the run so far.

    The rows of a new run go into Postgres while they are made. Those of a run that is there already are digested first.
    """
    row = run_row(run)
    run_id = row["run_id"]
    # Two processes that store one run at once: the second waits here and then finds the first one's rows.
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(run_id, 0))))
    runs, metrics = schema.runs, schema.run_metrics
    before = connection.execute(
        select(
            runs.c.plan_identity,
            runs.c.payload_digest,
            runs.c.status,
            runs.c.candidate,
            runs.c.benchmark,
            metrics.c.errors,
            metrics.c.judged,
        )
        .join(metrics)
        .where(runs.c.run_id == run_id)
    ).one_or_none()
    if before is not None:
        if before.plan_identity != run.plan_identity:
            raise RunConflict(
                f"The run_id `{run_id}` is taken in the database by another run: `{before.candidate}` on "
                f"`{before.benchmark}`. Give this run another run_id, or none."
            )
        if before.payload_digest == _payload(run, summary, rows):
            return "unchanged"
        if not is_open(before.status, errors=before.errors, judged=before.judged):
            raise RunConflict(
                f"The run `{run_id}` is finished, and its result in the database is not the one to be stored. "
                "A finished run is never changed: make a new run."
            )
        connection.execute(runs.delete().where(runs.c.run_id == run_id))
    # The digest is known once all rows are made; nobody sees the run without it, as this is one transaction.
    connection.execute(runs.insert().values(row | {"payload_digest": ""}))
    connection.execute(metrics.insert().values(metrics_row(run_id, summary)))
    _copy(connection, rows)
    connection.execute(runs.update().where(runs.c.run_id == run_id).values(payload_digest=_payload(run, summary, rows)))
    return "stored" if before is None else "continued"


def _payload(run: RunRecord, summary: Summary, rows: RowStream) -> str:
    return digest({"run": run_payload(run), "summary": summary_payload(summary.to_json()), "executions": rows.digest()})


def store_gate(connection: Connection, decision: GateDecision, transitions: Iterable[TransitionRow]) -> None:
    """Store a decision and what became of each question; see `Database.store_gate`."""
    run_id, baseline = decision.run_id, decision.baseline_run_id or ""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(run_id, 0))))
    if connection.scalar(select(schema.runs.c.run_id).where(schema.runs.c.run_id == run_id)) is None:
        raise StorageFailed(f"The run `{run_id}` has no rows yet that its decision could stand beside. Store it first.")
    for table in (schema.transitions, schema.gates):
        connection.execute(table.delete().where(table.c.run_id == run_id, table.c.baseline_run_id == baseline))
    connection.execute(schema.gates.insert().values(gate_row(decision)))
    rows = (transition_row(one, run_id=run_id, baseline_run_id=baseline) for one in transitions)
    while some := list(islice(rows, TOGETHER)):
        connection.execute(schema.transitions.insert(), some)


def _copy(connection: Connection, rows: RowStream) -> None:
    raw = connection.connection
    dbapi = connection.dialect.loaded_dbapi
    cursor = raw.cursor()
    rows.rewind()
    try:
        cursor.copy_expert(_COPY, rows, size=AT_ONCE)
    except dbapi.Error as error:
        if rows.failure is not None:  # the driver tells Postgres of it, and says only that `COPY` was broken off
            raise rows.failure from None
        lost = connection.dialect.is_disconnect(error, raw.driver_connection, cursor)
        if lost:
            connection.invalidate(error)
        raise DBAPIError.instance(
            _COPY, None, error, dbapi.Error, hide_parameters=True, connection_invalidated=lost
        ) from error
    finally:
        cursor.close()
