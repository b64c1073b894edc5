"""Steps 6 and 7: the rows in Postgres."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bench_assets.contracts.comparison import TransitionRow
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.errors import InvalidInput
from bench_assets.stages.records import RecordFile, ScoreFile
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle
from bench_assets.storage.postgres.database import Database
from bench_assets.storage.postgres.rows import AnswerColumns, Stored, execution_row


def store_rows(workspace: Workspace, run_id: str) -> Stored:
    """Write a finished run's rows, read from its bundle. Returns whether anything changed.

    Raises StorageFailed when the database cannot be reached, RunConflict when the run_id holds another run.
    """
    with _database(workspace) as database:
        return _store(workspace, database, run_id)


def store_gate(workspace: Workspace, decision: GateDecision, transitions: Iterable[TransitionRow]) -> None:
    """Write the rows of a decision and of its comparison; the run's own rows first, where they are not there yet.

    `transitions` may be iterated over twice. Raises StorageFailed and RunConflict as `store_rows`.
    """
    with _database(workspace) as database:
        _store(workspace, database, decision.run_id)
        database.store_gate(decision, transitions)


@contextmanager
def _database(workspace: Workspace) -> Iterator[Database]:
    with Database.open(workspace.project.postgres_url, embedded_root=workspace.postgres_folder) as database:
        database.upgrade()
        yield database


def _store(workspace: Workspace, database: Database, run_id: str) -> Stored:
    run, summary = _parts(RunBundle(workspace.store, run_id))
    # A bundle is written whole and never changed, and its run.json says when: with that the rows came here as well.
    if database.run(run_id) == run and database.metrics(run_id) == summary:
        return "unchanged"
    answers = RecordFile(workspace.store, f"runs/{run_id}/answers.jsonl", AnswerColumns)
    scores = ScoreFile(workspace.store, f"runs/{run_id}/scores.jsonl")
    rows = (execution_row(answer, score) for answer, score in zip(answers, scores, strict=True))
    return database.store_run(run, summary, rows)


def _parts(bundle: RunBundle) -> tuple[RunRecord, Summary]:
    run, summary = bundle.run(), bundle.summary()
    if run is None or summary is None:
        raise InvalidInput(f"There is no run with figures in {bundle.url} to store. Materialize `summary` first.")
    return run, summary
