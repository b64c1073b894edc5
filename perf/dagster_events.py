"""What a shard costs Dagster in events, and how many shards that leaves room for."""

import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_postgres import PostgresEventLogStorage

from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.database import Database
from perf.evaluation import Evaluation
from perf.harness import Setting, Table
from tests.services.postgres import new_database

KINDS_OF_DAGSTER: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    ("SQLite", "SQLite", {}),
    ("Postgres", "Postgres", {}),
    ("Postgres, `DAGSTER_EVENT_BATCH_SIZE=1000`", "Postgres", {"DAGSTER_EVENT_BATCH_SIZE": "1000"}),
)
"""What Dagster keeps its events in: how it is called here, what it is, and variables that go with it."""

SHARE = 0.05
"""Of a run's time that events may take."""


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
    storing = {}
    for kind, found in costs.items():
        less, more = found[few], found[many]
        extra = many - few
        storing[kind] = (more.storing - less.storing) / extra
        table.rows.append(
            [
                kind,
                (more.events - less.events) / extra,
                (more.materializations - less.materializations) / extra,
                (more.size - less.size) / extra / 1024,
                more.storing / more.events * 1000,
                (more.seconds - less.seconds) / extra * 1000,
            ]
        )
    yield table
    yield _shards_that_pay(storing)


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


@dataclass(frozen=True, kw_only=True)
class _Costs:
    """What one run cost."""

    seconds: float
    """Of the whole run of `answers` and `scores`."""
    storing: float
    """Seconds in Dagster's event log."""
    events: float
    materializations: float
    size: float
    """Bytes of events."""


def _median(runs: list[_Costs]) -> _Costs:
    return _Costs(**{part.name: statistics.median(getattr(run, part.name) for run in runs) for part in fields(_Costs)})


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
