"""How much slower, how much dearer: over executions that have the quantity in both runs."""

import math
from collections.abc import Iterable, Sequence

from bench_assets.analysis.metrics import quantile
from bench_assets.analysis.population import PairedQuestion
from bench_assets.analysis.runs import Observation
from bench_assets.contracts.comparison import Ratio


def latency_ratio(pairs: Iterable[PairedQuestion]) -> Ratio | None:
    """Return the medians of `duration_ms` over executions that were answered in both runs; None when there is none."""
    durations = [
        (before.duration_ms, after.duration_ms)
        for before, after in _executions(pairs)
        if before.duration_ms is not None and after.duration_ms is not None
    ]
    if not durations:
        return None
    medians = [quantile(sorted(side), 0.5) for side in zip(*durations, strict=True)]
    return _ratio("median duration_ms", len(durations), medians)


def cost_ratio(pairs: Sequence[PairedQuestion]) -> Ratio | None:
    """Return the mean cost of executions that report it in both runs: money, or else tokens. None without one."""
    for what in ("money", "tokens"):
        costs = [
            (before, after)
            for one, other in _executions(pairs)
            if (before := getattr(one, what)) is not None and (after := getattr(other, what)) is not None
        ]
        if costs:
            means = [math.fsum(side) / len(costs) for side in zip(*costs, strict=True)]
            return _ratio(f"mean {what}", len(costs), means)
    return None


def _executions(pairs: Iterable[PairedQuestion]) -> Iterable[tuple[Observation, Observation]]:
    for pair in pairs:
        yield from zip(pair.baseline, pair.candidate, strict=True)


def _ratio(what: str, n: int, sides: Sequence[float]) -> Ratio:
    before, after = sides
    return Ratio(what=what, n=n, baseline=before, candidate=after, ratio=after / before if before else None)
