"""What keeping a run may ask of S3, Postgres, Dagster and the disk: counts, never times."""

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from sqlalchemy import Engine, event

from bench_assets.contracts.answer import SettledExecution
from bench_assets.execution import local_journal
from bench_assets.execution.local_journal import LocalJournal
from bench_assets.storage.postgres import storing
from bench_assets.storage.postgres.copying import row_stream
from bench_assets.storage.postgres.database import Database
from perf.evaluation import FIRST, LAST, Evaluation
from tests.services.seaweed import S3Endpoint
from tests.storage.records import answer_record, execution, run_record, score_record, summary

NOWHERE = Path("/nowhere/postgres")

STAGES = {
    "agent_environment": 10,
    "plan": 6,
    "answers": 4,
    "scores": 2,
    "summary": 15,
    "result_rows": 5,
    "comparison": 25,
    "leaderboard": 13,
}
"""Requests of each stage beside those for its shards."""

SHARDS = {"answers": 3, "scores": 2, "summary": 4}
"""Requests for each shard, without the journal's segments and the renewals of its lease."""


@pytest.fixture
def evaluation(tmp_path: Path, s3_endpoint: S3Endpoint, database_url: str) -> Evaluation:
    return Evaluation(
        tmp_path / "project",
        questions=120,
        shards=2,
        storage=f"s3://{s3_endpoint.bucket}/{s3_endpoint.new_prefix()}",
        variables={**s3_endpoint.environment, "BENCH_POSTGRES_URL": database_url},
    )


@pytest.mark.slow
def test_a_run_over_s3_asks_it_for_no_more_than_it_needs(evaluation: Evaluation) -> None:
    with dg.DagsterInstance.ephemeral() as instance, evaluation.opened(instance, counted=True) as opened:
        for name in FIRST:
            opened.materialize(name)
        opened.materialize_shards("answers")
        opened.materialize_shards("scores")
        for name in LAST:
            opened.materialize(name)
    journal: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for (stage, kind, key), count in evaluation.requests.keys.items():
        if re.search(r"/\d{8}\.jsonl$", key):
            journal[kind] += count
        elif not (key.endswith("/lease.json") and kind in {"GET", "PUT"}):
            found[stage] += count
    allowed = {stage: fixed + 2 * SHARDS.get(stage, 0) for stage, fixed in STAGES.items()}
    over = {stage: (count, allowed[stage]) for stage, count in found.items() if count > allowed[stage]}
    assert not over, f"requests and those allowed: {over}"
    assert journal["GET"] == 0, "what was just written is read back from memory"
    assert 2 <= journal["PUT"] <= 120


def test_a_runs_rows_take_the_same_statements_however_many_they_are(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    copies: list[int] = []
    copy = storing._copy
    monkeypatch.setattr(storing, "_copy", lambda *given: (copies.append(1), copy(*given)))

    def note(*given: object) -> None:
        statements.append(str(given[2]))

    with Database.open(database_url, embedded_root=NOWHERE) as database:
        database.upgrade()
        event.listen(Engine, "before_cursor_execute", note)
        try:
            counts = []
            for number, rows in enumerate((1, 10, 3000)):
                statements.clear()
                executions = (execution(f"q{n}") for n in range(rows))
                database.store_run(run_record(run_id=f"run-{number}"), summary(), executions)
                counts.append(len(statements))
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    assert counts == [6, 6, 6], statements
    assert len(copies) == 3, "one COPY a run"


def test_a_shard_logs_no_more_events_than_it_needs(tmp_path: Path) -> None:
    logged: dict[int, Counter[str]] = {}
    for shards in (2, 4):
        evaluation = Evaluation(tmp_path / f"project-{shards}", questions=4, shards=shards)
        with dg.DagsterInstance.ephemeral() as instance, evaluation.opened(instance) as opened:
            opened.materialize("agent_environment")
            opened.materialize("plan")
            done = opened.materialize_shards("answers", "scores")
            entries = instance.all_logs(done.run_id)
        kinds = [entry.dagster_event.event_type_value for entry in entries if entry.dagster_event]
        logged[shards] = Counter(kinds)
    more = logged[4] - logged[2]
    # Two of each asset: one at once, so that a crash loses nothing, and one by Dagster when the step ends.
    assert {kind: count / 2 for kind, count in more.items()} == {
        "ASSET_MATERIALIZATION": 4,
        "ASSET_MATERIALIZATION_PLANNED": 2,
    }


def settled(number: int) -> SettledExecution:
    fields = answer_record(f"q{number}").model_dump(exclude={"run_id", "question", "golden"})
    return SettledExecution(**fields)


def test_answers_that_arrive_during_a_flush_share_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes = 0
    under_way, go_on = threading.Event(), threading.Event()
    flush = os.fdatasync

    def slow(descriptor: int) -> None:
        nonlocal flushes
        flushes += 1
        under_way.set()
        assert go_on.wait(60)
        flush(descriptor)

    with LocalJournal(tmp_path / "000.jsonl", run_id="a-run", shard="000") as journal:
        monkeypatch.setattr(local_journal.os, "fdatasync", slow)
        journal.append(settled(0))
        assert under_way.wait(60)
        for number in range(1, 1000):
            journal.append(settled(number))
        go_on.set()
        journal.flush()
    assert flushes == 2


def test_an_answer_takes_so_many_bytes() -> None:
    answer, score = answer_record("q1", run_id="a-run"), score_record("q1", run_id="a-run")

    def lines() -> Iterator[bytes]:
        with row_stream("a-run", [execution("q1")]) as rows:
            yield from iter(rows.read, b"")

    content = len(json.dumps([answer.question, answer.answer, answer.golden]))
    sizes = {
        "journal": len(settled(1).to_line()),
        "answers.jsonl": len(answer.to_line()),
        "scores.jsonl": len(score.to_line()),
        "COPY": len(b"".join(lines())),
    }
    limits = {"journal": 470, "answers.jsonl": 560, "scores.jsonl": 340, "COPY": 240}
    over = {name: (size, limits[name]) for name, size in sizes.items() if size - content > limits[name]}
    assert not over, f"bytes beside the texts, and those allowed: {over}"
