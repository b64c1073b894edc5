"""Rows into Postgres, as `result_rows` stores them, beside a plain `COPY`."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from bench_assets.catalog.project import Project
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.records import AnswerFile, ScoreFile
from bench_assets.stages.rows import store_rows
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle
from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.copying import row_stream
from bench_assets.storage.postgres.database import Database
from bench_assets.storage.postgres.encoding import COLUMNS
from bench_assets.storage.postgres.rows import execution_row
from perf.harness import Goal, Setting, Table, in_turns, seconds
from tests.storage.records import RUN_ID, answer_record, run_record, score_record, summary

Driver = Any
"""A connection of psycopg2, which has no types."""


def rows(setting: Setting) -> Table:
    """Store a run's rows as `result_rows` does, in turns with a plain `COPY` of the same lines."""
    count = 2_000 if setting.quick else 100_000
    workspace = some_workspace(setting.folder / "rows")
    setting.note(f"rows: a run of {count:,} executions")
    made_run(workspace, count)
    with Database.open(None, embedded_root=workspace.postgres_folder) as database:
        database.upgrade()
        with _connected(database.url) as plain:
            _make_same_table(plain)
            lines = _lines(workspace)
            pair = in_turns(lambda: _ours(workspace, plain), lambda: _plain(plain, lines), rounds=setting.rounds)
            size = _size(plain)
    ours, bare = pair.medians
    return Table(
        title=f"{count:,} rows of `executions`, with their run and its figures, into the embedded Postgres",
        columns=["way", "seconds", "rows/s"],
        rows=[
            ["`result_rows`: read from the bundle, checked, digested, stored", ours, count / ours],
            ["plain `COPY` of the same lines from memory", bare, count / bare],
        ],
        goals=[
            Goal(
                text=f"at least half the rate of plain `COPY` (ratio of the rounds {1 / max(pair.ratios):.2f} – "
                f"{1 / min(pair.ratios):.2f})",
                value=1 / pair.ratio,
                at_least=0.5,
                unit="of its rate",
            )
        ],
        notes=[
            f"The table of the plain `COPY` has the same columns, indexes and foreign key. With indexes a row takes "
            f"{size / count:,.0f} bytes in Postgres, and {len(lines) / count:,.0f} in the format of `COPY`."
        ],
    )


def some_workspace(folder: Path) -> Workspace:
    """Return the workspace of a project without benchmarks, in a new folder."""
    (folder / "benchmarks").mkdir(parents=True)
    reporter = LogReporter(lambda _: None, detail=lambda _: None)
    environ = {"BENCH_PROJECT": str(folder)}
    return Workspace(project=Project.find(environ, cwd=folder), environ=environ, reporter=reporter)


def made_run(workspace: Workspace, count: int) -> None:
    """Write a bundle: every second answer has several lines, and every fourth is in Russian."""
    endings = ("", "\nThat is, if the source is right.", " Так пишут в источнике.", '\nThe source says "about".')

    def answers() -> Iterator[bytes]:
        for n in range(count):
            yield answer_record(
                f"q{n}",
                run_id=RUN_ID,
                question=f"What is the value of entry number {n} in the register, in words?",
                answer=f"The value of entry {n} is {n * 7}, as far as is known today.{endings[n % 4]}",
                golden=f"{n * 7}",
                usage={"prompt_tokens": 120 + n % 50, "completion_tokens": 40},
            ).to_line()

    scores = (score_record(f"q{n}", run_id=RUN_ID, reason="the same number").to_line() for n in range(count))
    RunBundle(workspace.store, RUN_ID).write(
        run_record(total_rows=count),
        {
            "answers.jsonl": answers(),
            "scores.jsonl": scores,
            "summary.json": json.dumps(summary().to_json()).encode(),
            "environment.lock": b"",
        },
    )


def _lines(workspace: Workspace) -> bytes:
    """Return the lines that our own way copies."""
    answers = AnswerFile(workspace.store, f"runs/{RUN_ID}/answers.jsonl")
    scores = ScoreFile(workspace.store, f"runs/{RUN_ID}/scores.jsonl")
    made = (execution_row(answer, score) for answer, score in zip(answers, scores, strict=True))
    with row_stream(RUN_ID, made) as stream:
        return b"".join(iter(stream.read, b""))


@contextmanager
def _connected(url: str) -> Iterator[Driver]:
    """Yield a connection of the driver's own."""
    engine = create_engine(parse_url(url), poolclass=NullPool)
    raw = engine.raw_connection()
    try:
        driver: Any = raw.driver_connection
        yield driver
    finally:
        raw.close()
        engine.dispose()


def _make_same_table(plain: Driver) -> None:
    with plain, plain.cursor() as cursor:
        cursor.execute("CREATE TABLE plain_runs (run_id text PRIMARY KEY)")
        cursor.execute("INSERT INTO plain_runs VALUES (%s)", (RUN_ID,))
        cursor.execute("CREATE TABLE plain (LIKE executions INCLUDING ALL)")
        cursor.execute("ALTER TABLE plain ADD FOREIGN KEY (run_id) REFERENCES plain_runs ON DELETE CASCADE")


def _ours(workspace: Workspace, plain: Driver) -> float:
    _emptied(plain, "runs, run_metrics, executions, transitions, gates")
    return seconds(lambda: store_rows(workspace, RUN_ID))


def _plain(plain: Driver, lines: bytes) -> float:
    _emptied(plain, "plain")
    file = io.BytesIO(lines)

    def copy() -> None:
        with plain, plain.cursor() as cursor:
            cursor.copy_expert(f"COPY plain (run_id, {', '.join(COLUMNS)}) FROM STDIN", file, size=1 << 17)

    return seconds(copy)


def _emptied(plain: Driver, tables: str) -> None:
    """Empty the tables, and have Postgres write down what it owes, so that neither way pays for the other."""
    with plain, plain.cursor() as cursor:
        cursor.execute(f"TRUNCATE {tables}")
    plain.autocommit = True
    with plain.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    plain.autocommit = False


def _size(plain: Driver) -> int:
    with plain, plain.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('plain')")
        found: int = cursor.fetchone()[0]
    return found
