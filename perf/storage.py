"""What keeping a run costs: rows into Postgres, requests to S3, and what a shard costs Dagster."""

import re
from collections import Counter
from collections.abc import Iterator

import dagster as dg

from perf.dagster_events import events
from perf.evaluation import FIRST, LAST, Evaluation
from perf.harness import Setting, Table
from perf.rows import rows
from tests.services.seaweed import running_seaweed

KINDS = ("PUT", "GET", "HEAD", "LIST", "DELETE")


def measure(setting: Setting) -> Iterator[Table]:
    """Yield rows beside `COPY`, requests by stage, and the events of a shard."""
    yield rows(setting)
    yield requests(setting)
    yield from events(setting)


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
