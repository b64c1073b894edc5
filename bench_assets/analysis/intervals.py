"""Intervals of a share of right answers."""

import math
from statistics import NormalDist

from bench_assets.contracts.run import Interval


def normal_quantile(share: float) -> float:
    """Return the standard normal's quantile, for instance 1.96 for 0.975."""
    return NormalDist().inv_cdf(share)


def wilson(rate: float, size: float, *, alpha: float = 0.05) -> Interval:
    """Return the Wilson interval at 1 - `alpha` of a `rate` over `size` observations (not rounded: may be effective).

    Holds where the normal interval does not: near 0 and 1, and for few observations. Raises ValueError for no
    observation.
    """
    if size <= 0:
        raise ValueError("an interval needs at least one observation")
    z = normal_quantile(1 - alpha / 2)
    middle = (rate + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * math.sqrt(rate * (1 - rate) / size + z**2 / (4 * size**2))
    low = 0.0 if rate == 0 else max(0.0, middle - half)
    return Interval(low=low, high=1.0 if rate == 1 else min(1.0, middle + half))


def effective_size(rate: float, *, stderr: float | None, questions: int, repetitions: int) -> float:
    """Return how many independent observations a run is worth, from its rate and clustered standard error.

    Between the number of questions (repetitions that always agree say nothing new) and that of executions
    (repetitions as different as questions). Where no variance shows, it is the number of questions.
    """
    if not stderr:
        return float(questions)
    worth = rate * (1 - rate) / (stderr**2 * (questions - 1) / questions)
    return min(max(worth, float(questions)), float(questions * repetitions))


def share_interval(share: float | None, *, stderr: float | None, questions: int, repetitions: int) -> Interval | None:
    """Return the 95 % Wilson interval of a run's accuracy over its effective size; None when nothing was planned."""
    if share is None:
        return None
    return wilson(share, effective_size(share, stderr=stderr, questions=questions, repetitions=repetitions))
