"""Rows of finished runs in a Postgres that somebody has set up."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.pool import NullPool

from bench_assets.contracts.outcome import Outcome
from bench_assets.errors import RunConflict, StorageFailed
from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.database import Database
from bench_assets.storage.postgres.rows import ExecutionRow, execution_row
from tests.storage.records import (
    RUN_ID,
    STARTED,
    answer_record,
    execution,
    executions,
    run_record,
    score_record,
    summary,
)

NOWHERE = Path("/nowhere/postgres")

WRITER = """
import sys
from pathlib import Path
from bench_assets.storage.postgres.database import Database
from tests.storage.records import executions, run_record, summary

with Database.open(sys.argv[1], embedded_root=Path("/nowhere")) as database:
    database.store_run(run_record(), summary(), executions())
"""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An open database with our tables, empty."""
    with Database.open(database_url, embedded_root=NOWHERE) as database:
        database.upgrade()
        yield database


@pytest.fixture
def sql(database_url: str) -> Iterator[Engine]:
    """The same database, as a dashboard would reach it."""
    engine = create_engine(parse_url(database_url), poolclass=NullPool)
    yield engine
    engine.dispose()


def counts(sql: Engine) -> dict[str, int]:
    with sql.connect() as connection:
        tables = ("runs", "run_metrics", "executions")
        return {name: connection.scalar(text(f"SELECT count(*) FROM {name}")) or 0 for name in tables}


def test_a_run_is_read_back_as_it_was_stored(database: Database, sql: Engine) -> None:
    rows = [
        execution("q1"),
        execution("q2", "agent_error"),
        execution("q3", golden=["a", "b"], meta={"k": [1.5, None]}),
    ]
    run = run_record(seed=2**70, limit=3, description="čeština 🙂 \\ tab\t newline\n", kwargs={"deep": {"a": [1, "x"]}})
    assert database.store_run(run, summary("correct", "agent_error", "correct"), rows) == "stored"
    assert database.run(RUN_ID) == run
    assert database.metrics(RUN_ID) == summary("correct", "agent_error", "correct")
    assert database.executions(RUN_ID) == rows
    assert counts(sql) == {"runs": 1, "run_metrics": 1, "executions": 3}
    with sql.connect() as connection:
        row = connection.execute(text("SELECT * FROM runs JOIN run_metrics USING (run_id)")).mappings().one()
    assert (row["agent"], row["ref"], row["variant"]) == ("kg", "v1", None)
    assert (row["row_limit"], int(row["seed"]), row["description"]) == (3, 2**70, run.description)
    assert row["start_time"] == datetime.fromisoformat(STARTED)
    assert row["f1"] == 0.7794871794871795
    assert row["agent_error"] == row["errors"] == 1
    assert not NOWHERE.exists(), "with a URL nothing of our own is started"


def test_storing_a_run_twice_changes_nothing(database: Database, sql: Engine) -> None:
    database.store_run(run_record(), summary(), executions())
    later = run_record(
        finish_time="2026-06-01T00:00:00+00:00", dagster_run_ids=["x"], bench_assets_version="9", resume=True
    )
    cached = [row._replace(cached=True, judge_usage={"total": 1}) for row in executions()]
    assert database.store_run(later, summary(), reversed(cached)) == "unchanged"
    assert database.run(RUN_ID) == run_record()
    assert database.executions(RUN_ID) == list(executions())
    assert counts(sql) == {"runs": 1, "run_metrics": 1, "executions": 3}


def test_rows_that_break_off_leave_nothing_and_the_next_try_stores_all(database: Database, sql: Engine) -> None:
    def breaking() -> Iterator[ExecutionRow]:
        yield from executions()
        raise RuntimeError("the file ends here")

    with pytest.raises(RuntimeError, match="ends here"):
        database.store_run(run_record(), summary(), breaking())
    assert counts(sql) == {"runs": 0, "run_metrics": 0, "executions": 0}
    assert database.store_run(run_record(), summary(), executions()) == "stored"
    assert counts(sql) == {"runs": 1, "run_metrics": 1, "executions": 3}


def test_a_run_is_not_seen_before_its_last_row(database: Database, sql: Engine) -> None:
    seen = []

    def watching() -> Iterator[ExecutionRow]:
        for row in executions():
            seen.append(counts(sql))
            yield row

    database.store_run(run_record(), summary(), watching())
    assert seen == [{"runs": 0, "run_metrics": 0, "executions": 0}] * 3


def test_a_writer_killed_after_its_first_table_leaves_nothing_and_the_retry_stores_once(
    database: Database, database_url: str, sql: Engine
) -> None:
    with sql.begin() as blocking:
        blocking.execute(text("LOCK TABLE executions IN ACCESS EXCLUSIVE MODE"))
        with subprocess.Popen([sys.executable, "-c", WRITER, database_url]) as writer:
            wait_for(sql, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND relation = 'executions'::regclass")
            writer.kill()
    wait_for(sql, "SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE 'COPY executions%' AND state = 'active'")
    assert counts(sql) == {"runs": 0, "run_metrics": 0, "executions": 0}
    assert database.store_run(run_record(), summary(), executions()) == "stored"
    assert database.store_run(run_record(), summary(), executions()) == "unchanged"
    assert counts(sql) == {"runs": 1, "run_metrics": 1, "executions": 3}


def wait_for(sql: Engine, condition: str) -> None:
    """Wait until the database says that `condition` holds, 60 s at most."""
    end = time.monotonic() + 60
    with sql.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.scalar(text(condition)):
            assert time.monotonic() < end, condition
            time.sleep(0.02)


def test_processes_that_store_one_run_at_once_store_it_once(database_url: str, database: Database, sql: Engine) -> None:
    def store(_: int) -> str:
        with Database.open(database_url, embedded_root=NOWHERE) as another:
            return another.store_run(run_record(), summary(), executions())

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(store, range(4))) == ["stored", "unchanged", "unchanged", "unchanged"]
    assert counts(sql) == {"runs": 1, "run_metrics": 1, "executions": 3}


def test_another_run_under_the_same_run_id_is_refused(database: Database) -> None:
    database.store_run(run_record(), summary("missing"), executions("missing"))
    with pytest.raises(RunConflict, match=r"taken in the database by another run: `kg@v1` on `rusimpleqa@1\.0`"):
        database.store_run(run_record(plan_identity="9" * 64), summary(), executions())
    assert database.metrics(RUN_ID) == summary("missing")


@pytest.mark.parametrize("left_open", ["agent_error", "judge_error", "missing"])
def test_a_run_that_left_something_open_is_replaced_by_its_continuation(
    database: Database, sql: Engine, left_open: Outcome
) -> None:
    database.store_run(run_record(), summary("correct", left_open), executions("correct", left_open))
    assert (
        database.store_run(run_record(), summary("correct", "correct"), executions("correct", "correct")) == "continued"
    )
    assert database.metrics(RUN_ID) == summary("correct", "correct")
    assert database.executions(RUN_ID) == list(executions("correct", "correct"))
    assert counts(sql) == {"runs": 1, "run_metrics": 1, "executions": 2}


def test_an_interrupted_run_is_replaced_by_its_continuation(database: Database) -> None:
    database.store_run(run_record(status="interrupted", finish_time=None), summary(), executions())
    assert database.store_run(run_record(), summary(), executions()) == "continued"
    assert database.store_run(run_record(), summary(), executions()) == "unchanged"


@pytest.mark.parametrize(
    "rows",
    [
        [execution("q1"), execution("q2"), execution("q3", answer="another")],
        [execution("q1"), execution("q2")],
        [*executions(), execution("q4")],
        [execution("q1"), execution("q2"), execution("q3", reason="another")],
    ],
    ids=["another answer", "one less", "one more", "another reason"],
)
def test_a_complete_run_is_never_replaced_by_another_result(database: Database, rows: list[ExecutionRow]) -> None:
    database.store_run(run_record(), summary(), executions())
    with pytest.raises(RunConflict, match="A finished run is never changed"):
        database.store_run(run_record(), summary(), rows)
    assert database.executions(RUN_ID) == list(executions())


def test_one_execution_twice_is_a_sentence_and_stores_nothing(database: Database, sql: Engine) -> None:
    with pytest.raises(StorageFailed, match=r"Could not store the run .* duplicate key .*execution_id"):
        database.store_run(run_record(), summary(), [*executions(), execution("q1")])
    assert counts(sql) == {"runs": 0, "run_metrics": 0, "executions": 0}


def test_a_long_id_does_not_lose_the_row(database: Database) -> None:
    rows = [execution("q" * 100_000)]
    database.store_run(run_record(), summary("correct"), rows)
    assert database.executions(RUN_ID) == rows


def test_long_answers_come_whole(database: Database) -> None:
    rows = [execution(f"q{number}", answer=f"{number}\n" * 1_000_000) for number in range(3)]
    database.store_run(run_record(), summary(), rows)
    assert database.executions(RUN_ID) == rows


def test_what_postgres_cannot_hold_does_not_lose_the_row(database: Database) -> None:
    hard = {
        "nul": "a\0b",
        "lone": "c\ud83dd",
        "nan": float("nan"),
        "inf": [float("inf")],
        "key\0": 1,
        r"\u0000": r"\u0000",
    }
    answer = answer_record("q\0\ud83d1", answer="\0 \udcff \\N \\. \t\r\n 🙂", golden=["\0"], meta=hard, usage=hard)
    row = execution_row(answer, score_record("q\0\ud83d1", reason="because\0\udc00"))
    run = run_record(description="a\0\ud800b", describe=hard)
    assert database.store_run(run, summary("correct"), [row]) == "stored"
    assert database.store_run(run, summary("correct"), [row]) == "unchanged"
    (stored,) = database.executions(RUN_ID)
    clean = {"nul": "a\ufffdb", "lone": "c\ufffdd", "nan": None, "inf": [None], "key\ufffd": 1, r"\u0000": r"\u0000"}
    assert stored.question_id == "q\ufffd\ufffd1"
    assert stored.answer == "\ufffd \ufffd \\N \\. \t\r\n 🙂"
    assert stored.golden == ["\ufffd"]
    assert stored.meta == stored.usage == clean
    assert stored.reason == "because\ufffd\ufffd"
    record = database.run(RUN_ID)
    assert record is not None
    assert (record.description, record.describe) == ("a\ufffd\ufffdb", clean)


def test_many_rows_stream_through(database: Database, sql: Engine) -> None:
    rows = (execution(f"q{number}") for number in range(5_000))
    assert database.store_run(run_record(), summary(), rows) == "stored"
    assert counts(sql)["executions"] == 5_000


def test_an_answer_and_a_score_of_different_executions_are_not_joined() -> None:
    with pytest.raises(StorageFailed, match="another execution"):
        execution_row(answer_record("q1"), score_record("q2"))


def test_an_execution_that_was_never_asked_has_a_row(database: Database) -> None:
    row = execution_row(None, score_record("q1", "missing"))
    database.store_run(run_record(), summary("missing"), [row])
    assert database.executions(RUN_ID) == [row]
    assert (row.answer, row.duration_ms, row.outcome) == (None, None, "missing")


def stored_at(database: Database, day: int, *ended: Outcome, partial: bool = False, **changes: Any) -> None:
    start = datetime.fromisoformat(STARTED) + timedelta(days=day)
    run = run_record(run_id=f"run-{day}", start_time=start.isoformat(), **changes)
    database.store_run(run, summary(*ended, partial=partial), executions(*ended))


def test_the_leaderboard_ranks_each_candidates_run_and_says_what_to_know(database: Database) -> None:
    judge = run_record().judge_identity
    assert judge is not None
    stored_at(database, 1, "correct", "incorrect", candidate="kg@v1")
    stored_at(database, 2, "correct", partial=True, candidate="kg@v1")
    stored_at(database, 3, "correct", "judge_error", "agent_error", candidate="kg@v2~fast", dataset_digest="0" * 64)
    stored_at(
        database, 4, "correct", "correct", candidate="rag@v1", judge_identity=judge.model_copy(update={"digest": "z"})
    )
    stored_at(database, 5, "incorrect", "incorrect", candidate="base@v1")
    stored_at(database, 6, "correct", benchmark="other@1")
    board = database.leaderboard("rusimpleqa@1.0")
    assert [(row.place, row.candidate, row.run_id) for row in board] == [
        (1, "rag@v1", "run-4"),
        (2, "kg@v1", "run-1"),
        (3, "kg@v2~fast", "run-3"),
        (4, "base@v1", "run-5"),
    ]
    assert [row.notes for row in board] == [
        "another judge",
        None,
        "agent errors 1; judge errors 1; another dataset",
        None,
    ]


def test_the_history_shows_the_change_against_the_run_before(database: Database) -> None:
    stored_at(database, 1, "correct", "incorrect", candidate="kg@v1")
    stored_at(database, 2, "correct", partial=True, candidate="kg@v2")
    stored_at(database, 3, "correct", "correct", candidate="kg@v2")
    stored_at(database, 4, "incorrect", "correct", candidate="rag@v1")
    history = database.runs(benchmark="rusimpleqa@1.0")
    assert [(run.run_id, run.accuracy_change, run.previous_run_id) for run in history] == [
        ("run-4", None, None),
        ("run-3", 0.5, "run-1"),
        ("run-2", None, None),
        ("run-1", None, None),
    ]
    assert [run.run_id for run in database.runs(candidate="kg@v2", limit=1)] == ["run-3"]
    assert database.runs(benchmark="nobody@1") == []
    assert database.run("nobody") is None
    assert database.metrics("nobody") is None
    assert database.executions("nobody") == []
