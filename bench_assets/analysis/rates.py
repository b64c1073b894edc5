"""How good one run is, with the doubt that belongs to it."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from bench_assets.analysis.runs import ObservedRun
from bench_assets.contracts.comparison import RunFigures
from bench_assets.contracts.run import Interval, Summary


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


def accuracy_interval(summary: Summary) -> Interval | None:
    """Return the 95 % Wilson interval of a run's accuracy over its effective size; None when nothing was planned."""
    if summary.accuracy is None:
        return None
    size = effective_size(
        summary.accuracy, stderr=summary.stderr, questions=summary.questions, repetitions=summary.repetitions
    )
    return wilson(summary.accuracy, size)


def pass_at(correct: Sequence[int], *, repetitions: int, k: int) -> float:
    """Return pass@k: the chance that at least one of `k` repetitions is correct, averaged over questions.

    `correct` holds each question's number of correct repetitions, out of `repetitions`. The unbiased estimate: the
    share of all k-subsets of a question's repetitions that hold a correct one. `k` is at most `repetitions`.
    """
    subsets = math.comb(repetitions, k)
    return math.fsum(1 - math.comb(repetitions - count, k) / subsets for count in correct) / len(correct)


def pass_all(correct: Sequence[int], *, repetitions: int, k: int) -> float:
    """Return pass^k: the chance that all of `k` repetitions are correct; arguments as for `pass_at`."""
    subsets = math.comb(repetitions, k)
    return math.fsum(math.comb(count, k) / subsets for count in correct) / len(correct)


def run_figures(observed: ObservedRun) -> RunFigures:
    """Return the figures of one run, over everything that was planned."""
    run, summary, repetitions = observed.run, observed.summary, observed.repetitions
    counts = [sum(one.outcome == "correct" for one in of) for of in observed.executions.values()]
    counts += [0] * observed.lost
    judged = summary.total - summary.errors
    ks = range(1, repetitions + 1) if counts else range(0)
    return RunFigures(
        run_id=run.run_id,
        candidate=run.candidate,
        start_time=run.start_time,
        questions=summary.questions,
        repetitions=repetitions,
        executions=summary.executions,
        correct=summary.correct,
        accuracy=summary.accuracy,
        of_judged=summary.correct / judged if judged else None,
        wilson=accuracy_interval(summary),
        stderr=summary.stderr,
        outcomes=summary.outcomes,
        errors=summary.errors,
        coverage=summary.coverage,
        agent_error_rate=summary.outcomes.get("agent_error", 0) / summary.total if summary.total else None,
        accuracy_high=summary.accuracy_high,
        pass_at={k: pass_at(counts, repetitions=repetitions, k=k) for k in ks},
        pass_all={k: pass_all(counts, repetitions=repetitions, k=k) for k in ks},
        latency_ms=summary.latency_ms,
    )
