"""Many pods on paper: a simulation held against eight real processes, and what it says of 10 million executions."""

import statistics
from collections import Counter
from collections.abc import Iterator

from perf.eight_processes import AT_ONCE, PROCESSES, Measured, Round, median_costs
from perf.harness import Goal, Setting, Table
from perf.on_paper import on_paper
from perf.simulation import Costs


def measure(setting: Setting) -> Iterator[Table]:
    """Yield the simulation beside the real run, the constants, and the large run on paper."""
    rounds = [Round(setting, number).measured() for number in range(1 if setting.quick else setting.rounds)]
    costs = median_costs([one.costs for one in rounds])
    yield _agreement(rounds)
    yield _constants(costs)
    yield from on_paper(costs)


def _agreement(rounds: list[Measured]) -> Table:
    first = rounds[0]
    table = Table(
        title=f"The simulation beside {PROCESSES} real processes: {first.setup.executions:,} questions of 25–75 ms, "
        f"{AT_ONCE} in flight a process, one S3, one Postgres",
        columns=["what", "simulated", "measured", "simulated / measured", "least – greatest"],
        notes=[
            "Each process has a home and a cache of its own: it starts, restores the environment from the store, asks, "
            "keeps its journal on S3, scores, and logs to Dagster's Postgres; then one more sums up and stores rows. "
            "The constants come from single processes of the same round, with few questions and with many. The "
            "cores that other programs used at the time of the real run are taken from the simulated machine."
        ],
    )

    def row(what: str, simulated: list[float], measured: list[float]) -> float:
        ratios = [one / other for one, other in zip(simulated, measured, strict=True)]
        ratio = statistics.median(ratios)
        spread = f"{min(ratios):.2f} – {max(ratios):.2f}"
        table.rows.append([what, statistics.median(simulated), statistics.median(measured), ratio, spread])
        return ratio

    row(
        "seconds until all answers are scored",
        [one.simulated.answers_seconds for one in rounds],
        [one.answered.wall for one in rounds],
    )
    whole = row(
        "seconds until the rows are stored",
        [one.simulated.seconds for one in rounds],
        [one.answered.wall + one.finished.wall for one in rounds],
    )
    row(
        "CPU seconds",
        [one.simulated.cpu_seconds for one in rounds],
        [one.answered.cpu + one.finished.cpu for one in rounds],
    )
    requests = [one.answered.requests + one.finished.requests for one in rounds]
    for kind in ("PUT", "GET"):
        row(
            f"{kind} requests",
            [float(one.simulated.requests[kind]) for one in rounds],
            [float(found[kind]) for found in requests],
        )
    row(
        "all requests to S3",
        [float(one.simulated.requests.total()) for one in rounds],
        [float(found.total()) for found in requests],
    )
    row("rows", [float(one.simulated.rows) for one in rounds], [float(one.rows) for one in rounds])
    row(
        "events in Dagster",
        [float(one.simulated.events) for one in rounds],
        [float(one.answered.events + one.finished.events) for one in rounds],
    )
    table.goals.append(
        Goal(
            text="the simulated time within 20 % of the real one", value=whole, at_least=0.8, at_most=1.2, unit="of it"
        )
    )
    return table


def _constants(costs: Costs) -> Table:
    return Table(
        title="What the simulation takes from single processes",
        columns=["what", "CPU", "waiting"],
        rows=[
            ["start of a pod's process", _time(costs.start_cpu), _time(costs.start_wait)],
            ["restoring the environment on a new machine", _time(costs.restore_cpu), _time(costs.restore_wait)],
            ["one question: asked, journalled, recorded, scored", _time(costs.question_cpu), "–"],
            ["one event, in Dagster's Postgres", _time(costs.event_cpu), "–"],
            ["the last process: start, and all that does not grow", _time(costs.finish_cpu), _time(costs.finish_wait)],
            ["summing up one execution", _time(costs.summary_cpu), "–"],
            ["one row: made", _time(costs.row_cpu), "–"],
            ["one row: stored, in our Postgres", _time(costs.row_postgres_cpu), "–"],
            ["a segment's PUT, to the S3 server on this machine", "–", _time(costs.put_wait)],
        ],
        notes=[
            f"A pod's run logs {costs.events_per_run} events for its shard; the last run logs {costs.finish_events}. "
            f"Beside its journal a shard asks S3 for {_requests(costs.requests_per_shard)}; the last run for "
            f"{_requests(costs.finish_requests)}, and for {_requests(costs.finish_requests_per_shard)} a shard."
        ],
    )


def _requests(found: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in found.most_common()) or "nothing"


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.1f} µs"
