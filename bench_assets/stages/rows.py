"""Step 6: the rows in Postgres."""

import json

from bench_assets.contracts.run import FinishedRun, RunRecord, Summary
from bench_assets.stages.records import AnswerFile, ScoreFile
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.postgres.database import Database
from bench_assets.storage.postgres.rows import Stored, execution_row


def store_rows(workspace: Workspace, finished: FinishedRun) -> Stored:
    """Write a finished run's rows, read from its bundle. Returns whether anything changed.

    Raises StorageFailed when the database cannot be reached, RunConflict when the run_id holds another run.
    """
    folder = f"runs/{finished.run_id}"
    store = workspace.store
    run = RunRecord.from_json(json.loads(store.read(f"{folder}/run.json")), source=store.url(f"{folder}/run.json"))
    summary = Summary.from_json(
        json.loads(store.read(f"{folder}/summary.json")), source=store.url(f"{folder}/summary.json")
    )
    answers = AnswerFile(store, f"{folder}/answers.jsonl")
    scores = ScoreFile(store, f"{folder}/scores.jsonl")
    rows = (execution_row(answer, score) for answer, score in zip(answers, scores, strict=True))
    with Database.open(workspace.project.postgres_url, embedded_root=workspace.postgres_folder) as database:
        database.upgrade()
        return database.store_run(run, summary, rows)
