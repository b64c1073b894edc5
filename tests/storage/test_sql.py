"""The questions of docs/sql.md, asked of a database with three versions of an agent in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text

from bench_assets.contracts.outcome import Outcome
from bench_assets.errors import StorageFailed
from bench_assets.storage.postgres import upgrade
from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.database import Database
from tests.analysis.deciding import decided
from tests.readme.reading import blocks
from tests.storage.records import execution, run_record, summary

MIGRATIONS = Path(upgrade.__file__).parent / "migrations"
PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
VERSIONS: dict[str, tuple[Outcome, ...]] = {
    "kg@v1": ("correct", "correct", "incorrect"),
    "kg@v2": ("correct", "incorrect", "correct"),
    "kg@v3": ("correct", "agent_error", "correct"),
}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with Database.open(database_url, embedded_root=Path("/nowhere")) as database:
        database.upgrade()
        yield database


@pytest.fixture
def ask(database_url: str) -> Iterator[Any]:
    engine = create_engine(parse_url(database_url))

    def answers(query: str) -> list[dict[str, Any]]:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(query)).mappings()]

    yield answers
    engine.dispose()


def store(database: Database, candidate: str, number: int, *, baseline: str | None = None) -> str:
    """Store a version's run, and its decision against the run of `baseline`."""
    outcomes, run_id = VERSIONS[candidate], f"20260518-15450{number}-00000000"
    run = run_record(
        run_id=run_id, candidate=candidate, benchmark="quiz@1.0", start_time=f"2026-05-18T15:45:0{number}+00:00"
    )
    rows = [execution(f"q{place}", outcome) for place, outcome in enumerate(outcomes, start=1)]
    database.store_run(run, summary(*outcomes), rows)
    decision, comparison = decided(run_id, candidate, outcomes, baseline and (baseline, VERSIONS[baseline]))
    database.store_gate(decision, comparison.transitions if comparison else ())
    return run_id


def query(heading: str) -> str:
    """Return the query under a heading of the page, asked of our benchmark."""
    _, _, rest = PAGE.partition(f"## {heading}\n")
    (found, *_) = blocks(rest, "sql")
    return found.text.replace("word_arithmetic@1.0", "quiz@1.0").replace("add-01", "q2")


@pytest.fixture
def versions(database: Database) -> None:
    store(database, "kg@v1", 1)
    store(database, "kg@v2", 2, baseline="kg@v1")
    store(database, "kg@v3", 3, baseline="kg@v1")


@pytest.mark.usefixtures("versions")
def test_the_best_version_comes_with_its_verdict(ask):
    rows = ask(query("Which version is the best, and may we ship it?"))
    assert [(row["place"], row["candidate"], row["baseline"], row["delta"], row["n"]) for row in rows] == [
        (1, "kg@v1", None, None, None),
        (1, "kg@v2", "kg@v1", 0.0, 3),
        (1, "kg@v3", "kg@v1", 0.0, 3),
    ]
    assert [row["verdict"] for row in rows] == ["GO", "INCONCLUSIVE", "NO-GO"]
    assert "agent errors 1" in rows[2]["notes"]


@pytest.mark.usefixtures("versions")
def test_one_question_is_followed_through_all_versions(ask):
    rows = ask(query("Since which version does this question fail?"))
    assert [(row["candidate"], row["outcome"], row["score"], row["change"]) for row in rows] == [
        ("kg@v1", "correct", 1.0, None),
        ("kg@v2", "incorrect", 0.0, -1.0),
        ("kg@v3", "agent_error", 0.0, 0.0),
    ]
    assert rows[0]["answer"] == "4"
    assert ask("SELECT error FROM question_history WHERE outcome = 'agent_error'") == [
        {"error": "timeout: no answer within 300 s"}
    ]


@pytest.mark.usefixtures("versions")
def test_questions_that_broke_are_counted_over_versions(ask):
    rows = ask(query("Which questions broke, and in how many versions?"))
    assert rows == [{"question_id": "q2", "broken_in": 2, "versions": ["kg@v2", "kg@v3"]}]


def test_every_query_of_the_page_is_tested():
    assert len(blocks(PAGE, "sql")) == 3


def test_the_tables_and_views_of_the_page_are_those_there_are(database, ask):
    found = ask("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
    rows = [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert set(rows) == {row["table_name"] for row in found} - {"bench_assets_revision"}


def test_a_decision_again_replaces_the_one_with_the_same_baseline_only(database, ask):
    store(database, "kg@v1", 1)
    run_id = store(database, "kg@v2", 2, baseline="kg@v1")
    decision, _ = decided(run_id, "kg@v2", VERSIONS["kg@v2"], None)
    for _ in range(2):
        database.store_gate(decision)
    rows = ask(f"SELECT baseline_run_id, comparable, verdict FROM gates WHERE run_id = '{run_id}' ORDER BY 1")
    assert [(row["baseline_run_id"] != "", row["comparable"] is None) for row in rows] == [(False, True), (True, False)]
    assert len(ask(f"SELECT * FROM transitions WHERE run_id = '{run_id}'")) == 3


def test_a_decision_without_its_run_is_refused(database):
    decision, _ = decided("20260518-154509-00000000", "kg@v1", VERSIONS["kg@v1"], None)
    with pytest.raises(StorageFailed, match="`20260518-154509-00000000` has no rows yet"):
        database.store_gate(decision)


def test_a_database_of_the_revision_before_gets_the_new_views_and_keeps_its_runs(database, database_url, ask):
    store(database, "kg@v1", 1)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(parse_url(database_url))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0001")
    engine.dispose()
    assert "verdict" not in ask("SELECT * FROM run_history")[0]
    assert database.upgrade() is True
    assert ask("SELECT candidate, verdict FROM leaderboard") == [{"candidate": "kg@v1", "verdict": None}]
    assert database.upgrade() is False
