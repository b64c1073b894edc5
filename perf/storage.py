"""What keeping a run costs: rows into Postgres, requests to S3, and what a shard costs Dagster."""

import io
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_postgres import PostgresEventLogStorage
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
from perf.evaluation import FIRST, LAST, Evaluation
from perf.harness import Goal, Pair, Setting, Table, in_turns, seconds
from tests.services.postgres import new_database
from tests.services.seaweed import running_seaweed
from tests.storage.records import RUN_ID, answer_record, run_record, score_record, summary

KINDS = ("PUT", "GET", "HEAD", "LIST", "DELETE")
Driver = Any
"""A connection of psycopg2, which has no types."""

KINDS_OF_DAGSTER: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("SQLite", "SQLite", {}),
    ("Postgres", "Postgres", {}),
    ("Postgres, `DAGSTER_EVENT_BATCH_SIZE=1000`", "Postgres", {"DAGSTER_EVENT_BATCH_SIZE": "1000"}),
)
"""What Dagster keeps its events in: how it is called here, what it is, and variables that go with it."""

SHARE = 0.05
"""Of a run's time that events may take."""


def measure(setting: Setting) -> Iterator[Table]:
    """Yield rows beside `COPY`, requests by stage, and the events of a shard."""
    yield rows(setting)
    yield requests(setting)
    yield from events(setting)


# --- rows


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
                text=f"at least half the rate of plain `COPY` (ratio of the rounds {1 / _most(pair):.2f} – "
                f"{1 / _least(pair):.2f})",
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


def _most(pair: Pair) -> float:
    return max(one / other for one, other in zip(pair.first, pair.second, strict=True))


def _least(pair: Pair) -> float:
    return min(one / other for one, other in zip(pair.first, pair.second, strict=True))


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


# --- requests


def requests(setting: Setting) -> Table:
    """Count what a run over S3 asks of it."""
    count = 40 if setting.quick else 1000
    folder = setting.folder / "requests"
    (folder / "weed").mkdir(parents=True)
    setting.note(f"requests: a run of {count:,} questions over S3")
    with running_seaweed(folder / "weed") as s3, dg.DagsterInstance.ephemeral() as instance:
        evaluation = Evaluation(
            folder / "project",
            questions=count,
            shards=8,
            storage=f"s3://{s3.bucket}/perf",
            variables=s3.environment,
        )
        with evaluation.opened(instance, counted=True) as opened:
            for name in FIRST:
                opened.materialize(name)
            opened.materialize_shards("answers")
            opened.materialize_shards("scores")
            for name in LAST:
                opened.materialize(name)
    counts = evaluation.requests
    stages = list(dict.fromkeys(stage for stage, _ in counts.counts))
    table = Table(
        title=f"Requests to S3 of a run of {count:,} questions in 8 shards, by stage",
        columns=["stage", *KINDS, "all", "KiB sent"],
    )
    for stage in stages:
        found = counts.of(stage)
        kinds = [found[kind] for kind in KINDS]
        table.rows.append([stage, *kinds, found.total(), counts.sent[stage] / 1024])
    total = Counter({kind: sum(counts.of(stage)[kind] for stage in stages) for kind in KINDS})
    table.rows.append(["all", *(total[kind] for kind in KINDS), total.total(), sum(counts.sent.values()) / 1024])
    segments = _segments(counts.keys)
    table.notes.append(
        f"The journal is {segments['PUT']} segments of up to 50 answers, written once and read back "
        f"{segments['GET']} times. Per 1,000 answers: {total.total() / count * 1000:,.0f} requests, "
        f"{total['PUT'] / count * 1000:,.0f} of them PUT."
    )
    return table


def _segments(keys: Counter[tuple[str, str, str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, kind, key), times in keys.items():
        if re.search(r"/\d{8}\.jsonl$", key):
            found[kind] += times
    return found


# --- events


def events(setting: Setting) -> Iterator[Table]:
    """Measure what Dagster does for a shard, with SQLite and with Postgres, from runs of few and of many shards."""
    few, many = (2, 4) if setting.quick else (4, 24)
    costs = {}
    rounds = 1 if setting.quick else setting.rounds
    for name, kind, variables in KINDS_OF_DAGSTER:
        setting.note(f"events: runs of {few} and of {many} shards, Dagster on {name}")
        runs: dict[int, list[_Costs]] = {few: [], many: []}
        folder = setting.folder / "events" / re.sub(r"\W+", "-", name)
        with _instances(folder, kind) as instances:
            for number in range(rounds):
                for shards in (few, many) if number % 2 == 0 else (many, few):
                    runs[shards].append(_costs(folder / f"{shards}-{number}", shards, next(instances), variables))
        costs[name] = {shards: _median(found) for shards, found in runs.items()}
    table = Table(
        title=f"What a shard costs Dagster: `answers` and `scores` in one run, runs of {few} and of {many} shards",
        columns=["Dagster's storage", "events/shard", "materializations/shard", "KiB/shard", "ms/event", "ms/shard"],
        notes=[
            "An event is a row of Dagster's event log. The time of an event is that of the call that stores it; a "
            "shard's is the difference of the two runs' times by the shards that the longer one has more, with one "
            "question a shard: worker, journal and files included. Of a shard's materializations one is logged when "
            "it is stored, and one by Dagster when the step ends."
        ],
    )
    per_shard = {}
    for kind, found in costs.items():
        less, more = found[few], found[many]
        extra = many - few
        per_shard[kind] = (more.seconds - less.seconds) / extra
        table.rows.append(
            [
                f"{kind}",
                (more.events - less.events) / extra,
                (more.materializations - less.materializations) / extra,
                (more.size - less.size) / extra / 1024,
                more.storing / more.events * 1000,
                per_shard[kind] * 1000,
            ]
        )
    yield table
    yield _shards_that_pay({kind: _event_seconds(found[few], found[many], many - few) for kind, found in costs.items()})


def _event_seconds(less: "_Costs", more: "_Costs", extra: int) -> float:
    return (more.storing - less.storing) / extra


def _shards_that_pay(per_shard: dict[str, float]) -> Table:
    table = Table(
        title=f"How many shards a run can have before events take {SHARE:.0%} of its time",
        columns=["executions", "seconds each", "at once", "the run alone", *(f"shards, {kind}" for kind in per_shard)],
        notes=["Events are stored one after the other by the process that runs the shards, so a shard's add up."],
    )
    for count, each, at_once in ((1000, 1.0, 4), (1000, 5.0, 16), (10_000, 2.0, 16), (100_000, 2.0, 64)):
        alone = count * each / at_once
        table.rows.append(
            [
                count,
                each,
                at_once,
                f"{alone:,.0f} s",
                *(int(SHARE * alone / (1 - SHARE) / cost) if cost > 0 else None for cost in per_shard.values()),
            ]
        )
    return table


class _Costs:
    """What one run cost."""

    def __init__(self, *, seconds: float, storing: float, events: float, materializations: float, size: float) -> None:
        self.seconds = seconds
        """Of the whole run of `answers` and `scores`."""
        self.storing = storing
        """Seconds in Dagster's event log."""
        self.events = events
        self.materializations = materializations
        self.size = size
        """Bytes of events."""


def _median(runs: list[_Costs]) -> _Costs:
    names = ("seconds", "storing", "events", "materializations", "size")
    return _Costs(**{name: statistics.median(getattr(run, name) for run in runs) for name in names})


@contextmanager
def _instances(folder: Path, kind: str) -> Iterator[Iterator[dg.DagsterInstance]]:
    """Yield one fresh instance after the other; the embedded Postgres is the server of all of them."""
    folder.mkdir(parents=True)
    if kind == "SQLite":
        with closing(_fresh(folder, server=None)) as instances:
            yield instances
        return
    with (
        Database.open(None, embedded_root=folder / "server") as database,
        closing(_fresh(folder, server=database.url)) as instances,
    ):
        yield instances


def _fresh(folder: Path, *, server: str | None) -> Generator[dg.DagsterInstance, None, None]:
    number = 0
    while True:
        home = folder / f"home-{number}"
        home.mkdir()
        number += 1
        quiet = "telemetry: {enabled: false}\n"
        if server is None:
            (home / "dagster.yaml").write_text(quiet, encoding="utf-8")
            with dg.DagsterInstance.from_config(str(home)) as instance:
                yield instance
            continue
        with new_database(server) as url:
            given = parse_url(url).render_as_string(hide_password=False)
            (home / "dagster.yaml").write_text(
                f"storage: {{postgres: {{postgres_url: '{given}'}}}}\n{quiet}", encoding="utf-8"
            )
            with dg.DagsterInstance.from_config(str(home)) as instance:
                yield instance


def _costs(folder: Path, shards: int, instance: dg.DagsterInstance, variables: Mapping[str, str]) -> _Costs:
    evaluation = Evaluation(folder, questions=shards, shards=shards, variables=variables)
    with evaluation.opened(instance) as opened:
        opened.materialize("agent_environment")
        opened.materialize("plan")
        with _timed_events(instance) as storing:
            began = time.perf_counter()
            done = opened.materialize_shards("answers", "scores")
            took = time.perf_counter() - began
    logged = instance.all_logs(done.run_id)
    kinds = Counter(entry.dagster_event.event_type_value for entry in logged if entry.dagster_event)
    return _Costs(
        seconds=took,
        storing=sum(storing),
        events=len(logged),
        materializations=kinds["ASSET_MATERIALIZATION"],
        size=sum(len(dg.serialize_value(entry)) for entry in logged),
    )


@contextmanager
def _timed_events(instance: dg.DagsterInstance) -> Iterator[list[float]]:
    """Yield a list that grows by the seconds of each call that stores an event."""
    log = instance.event_log_storage
    took: list[float] = []

    def timed(store: Callable[[Any], None]) -> Callable[[Any], None]:
        def call(events: Any) -> None:
            began = time.perf_counter()
            store(events)
            took.append(time.perf_counter() - began)

        return call

    whole: Any = log  # its two methods are exchanged on this one object
    # The second one calls the first one where there is no better way, and that is timed once.
    names = ["store_event"] + (["store_event_batch"] if isinstance(log, PostgresEventLogStorage) else [])
    before = {name: getattr(log, name) for name in names}
    for name, store in before.items():
        setattr(whole, name, timed(store))
    try:
        yield took
    finally:
        for name, store in before.items():
            setattr(whole, name, store)
