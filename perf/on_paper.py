"""What ten million executions over 500 pods cost by the simulation, and which limit comes first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench_assets.contracts.score import Verdict
from bench_assets.judging.kept.lines import write_line
from perf.harness import Table
from perf.simulation import Costs, Outcome, Setup, simulate


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Assumptions, in USD; set your own."""

    put_1000: float = 0.005
    """PUT and LIST, a thousand."""
    get_1000: float = 0.0004
    """GET and HEAD, a thousand. DELETE costs nothing."""
    pod_hour: float = 0.05
    """One core and 2 GiB."""
    postgres_hour: float = 0.40
    """Four cores, for both databases."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Assumptions on what else is there."""

    put_rate: float = 3500.0
    """Writes a second to one prefix of S3, as AWS states it."""
    provider_rate: float = 1000.0
    """Questions a second that the agents' provider takes."""
    pod_gib: float = 2.0
    """Memory of a pod."""


LARGE = Setup(
    executions=10_000_000,
    shards=1000,
    pods=500,
    at_once=16,
    answer_sec=2.0,
    answer_spread=0.5,
    launch_sec=0.2,
    pod_start_sec=10.0,
    grain=25,
)
"""The large run: 10 million executions over 500 pods. Its last four figures are assumptions."""


def on_paper(costs: Costs, *, prices: Prices | None = None, limits: Limits | None = None) -> Iterator[Table]:
    """Yield what a large run costs, what limits it, and how its shards are chosen."""
    prices, limits = prices or Prices(), limits or Limits()
    free = simulate(LARGE, costs)
    bound = simulate(replace(LARGE, provider_rate=limits.provider_rate), costs)
    judged = simulate(replace(LARGE, judge_calls=1, judge_sec=1.0, judge_at_once=64), costs)
    yield _bill(
        {"no limit anywhere": free, "the agents' provider limits": bound, "an LLM judge": judged}, prices, limits
    )
    yield _limits(free, costs, limits)
    yield _shards(costs)


def _bill(found: dict[str, Outcome], prices: Prices, limits: Limits) -> Table:
    table = Table(
        title=f"{LARGE.executions:,} executions over {LARGE.pods} pods, on paper",
        columns=["what", *found],
        notes=[
            f"Assumed: an answer takes {LARGE.answer_sec:g} s, {LARGE.at_once} in flight a pod; {LARGE.shards:,} "
            f"shards of one Dagster run each; a pod needs {LARGE.pod_start_sec:g} s to start, and the queue lets one "
            f"go every {LARGE.launch_sec:g} s. A matcher judges; in the last column an LLM does, 64 calls of 1 s at "
            f"once a pod. Where the provider limits, it takes {limits.provider_rate:,.0f} questions a second.",
            f"Prices in USD, assumed as well: {prices.put_1000:g} for 1,000 PUT or LIST, {prices.get_1000:g} for 1,000 "
            f"GET or HEAD, {prices.pod_hour:g} a pod and hour, {prices.postgres_hour:g} an hour of Postgres. What the "
            "model costs is yours.",
        ],
    )
    for what, read in (
        ("hours until all answers are scored", lambda o: o.answers_seconds / 3600),
        ("hours of summary and rows, one process", lambda o: (o.seconds - o.answers_seconds) / 3600),
        ("pod hours", lambda o: o.pod_seconds / 3600),
        ("PUT requests", lambda o: o.requests["PUT"]),
        ("GET, HEAD and LIST requests", lambda o: o.requests["GET"] + o.requests["HEAD"] + o.requests["LIST"]),
        ("rows", lambda o: o.rows),
        ("events in Dagster", lambda o: o.events),
        ("USD, S3", lambda o: _s3_usd(o, prices)),
        ("USD, pods", lambda o: o.pod_seconds / 3600 * prices.pod_hour),
        ("USD, Postgres", lambda o: o.seconds / 3600 * prices.postgres_hour),
    ):
        table.rows.append([what, *(read(outcome) for outcome in found.values())])
    return table


def _s3_usd(outcome: Outcome, prices: Prices) -> float:
    found = outcome.requests
    written, read = found["PUT"] + found["LIST"], found["GET"] + found["HEAD"]
    return written / 1000 * prices.put_1000 + read / 1000 * prices.get_1000


def _limits(free: Outcome, costs: Costs, limits: Limits) -> Table:
    """Return how near each part is to its limit, the nearest first."""
    # The grain makes questions and segments come in clumps of many seconds; events do not depend on it.
    questions, puts = free.peak("questions", over=300), free.peak("PUT", over=300)
    events = free.peak("events")
    found: list[tuple[str, float, float, str]] = [
        ("the agents' provider, questions/s", questions, limits.provider_rate, "assumed"),
        ("S3, PUT/s under one prefix", puts, limits.put_rate, "stated by AWS"),
        ("Dagster's Postgres, events/s", events, LARGE.postgres_cores / costs.event_cpu, "measured, times its cores"),
        (
            "a pod's process, questions/s",
            questions / LARGE.pods,
            LARGE.pod_cores / costs.question_cpu,
            "measured",
        ),
        (
            "one process that sums up, of the answers' time",
            LARGE.executions * costs.summary_cpu,
            free.answers_seconds,
            "measured",
        ),
        (
            "one process that stores rows, of the answers' time",
            LARGE.executions * max(costs.row_cpu, costs.row_postgres_cpu),
            free.answers_seconds,
            "measured",
        ),
    ]
    kept = LARGE.executions * _verdict_bytes() / 2**30
    found.append(
        ("kept verdicts that a pod reads at its start, GiB: with an LLM judge", kept, limits.pod_gib, "assumed")
    )
    found.sort(key=lambda one: one[1] / one[2], reverse=True)
    return Table(
        title="Which limit comes first, in the large run without a limit at the provider",
        columns=["what", "asked for at the peak", "limit", "share", "the limit is"],
        rows=[[what, asked, limit, asked / limit, where] for what, asked, limit, where in found],
        notes=[
            "A share above 1 binds: the run then takes as long as that part needs. Summary and rows come after the "
            "answers, so theirs is what they add to the time."
        ],
    )


def _verdict_bytes() -> int:
    """Return the bytes of one kept verdict with a reason of one sentence."""
    verdict = Verdict(label="correct", reason="The answer names the same city as the reference.", calls=1)
    return len(write_line("0" * 64, verdict, at="2026-01-01T00:00:00.000000+00:00").raw) + 1


def _shards(costs: Costs) -> Table:
    """Return the time of a run by its number of shards."""
    table = Table(
        title="How the number of shards tells, on paper: executions of 2 s, 16 in flight a pod",
        columns=["executions", "pods at once", *(f"{shards} shards" for shards in (8, 32, 128, 500, 1000))],
        notes=[
            "Minutes until all answers are scored. A shard is a pod of its own here; with fewer shards than pods some "
            "pods have nothing to do, and with many more each pays for its start, its environment and its events."
        ],
    )
    for executions, pods in ((1000, 8), (10_000, 8), (100_000, 32), (1_000_000, 128), (10_000_000, 500)):
        minutes = []
        for shards in (8, 32, 128, 500, 1000):
            each = executions // (shards * LARGE.at_once)
            setup = replace(LARGE, executions=executions, pods=pods, shards=shards, grain=max(1, each // 20))
            minutes.append(simulate(setup, costs).answers_seconds / 60)
        table.rows.append([executions, pods, *minutes])
    return table
