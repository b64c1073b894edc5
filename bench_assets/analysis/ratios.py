"""How much slower, how much dearer: over executions that have the quantity in both runs."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench_assets.analysis.population import Pairs
from bench_assets.contracts.comparison import Ratio

if TYPE_CHECKING:
    import numpy as np


def latency_ratio(pairs: Pairs) -> Ratio | None:
    """Return the medians of `duration_ms` over executions that were answered in both runs; None when there is none."""
    import numpy as np

    before, after = _both(pairs, "durations")
    if not len(before):
        return None
    return _ratio("median duration_ms", len(before), [float(np.median(before)), float(np.median(after))])


def cost_ratio(pairs: Pairs) -> Ratio | None:
    """Return the mean cost of executions that report it in both runs: money, or else tokens. None without one."""
    for what in ("money", "tokens"):
        before, after = _both(pairs, what)
        if len(before):
            means = [math.fsum(side) / len(side) for side in (before, after)]
            return _ratio(f"mean {what}", len(before), means)
    return None


def _both(pairs: Pairs, name: str) -> "tuple[np.ndarray, np.ndarray]":
    """Return a quantity of both runs, over the executions that have it in both."""
    import numpy as np

    before, after = pairs.quantity("baseline", name), pairs.quantity("candidate", name)
    if before is None or after is None:
        return np.empty(0), np.empty(0)
    have = ~(np.isnan(before) | np.isnan(after))
    return before[have], after[have]


def _ratio(what: str, n: int, sides: Sequence[float]) -> Ratio:
    before, after = sides
    return Ratio(what=what, n=n, baseline=before, candidate=after, ratio=after / before if before else None)
