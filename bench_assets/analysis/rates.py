"""How good one run is, with the doubt that belongs to it."""

import math
from collections.abc import Mapping

from bench_assets.analysis.runs import ObservedRun
from bench_assets.contracts.comparison import RunFigures


def pass_at(correct: Mapping[int, int], *, repetitions: int, k: int) -> float:
    """Return pass@k: the chance that at least one of `k` repetitions is correct, averaged over questions.

    `correct` says how many questions have 0, 1, 2, … of their `repetitions` correct. The unbiased estimate: the share
    of all k-subsets of a question's repetitions that hold a correct one. `k` is at most `repetitions`.
    """
    subsets = math.comb(repetitions, k)
    chances = (number * (1 - math.comb(repetitions - count, k) / subsets) for count, number in correct.items())
    return math.fsum(chances) / sum(correct.values())


def pass_all(correct: Mapping[int, int], *, repetitions: int, k: int) -> float:
    """Return pass^k: the chance that all of `k` repetitions are correct; arguments as for `pass_at`."""
    subsets = math.comb(repetitions, k)
    chances = (number * math.comb(count, k) / subsets for count, number in correct.items())
    return math.fsum(chances) / sum(correct.values())


def run_figures(observed: ObservedRun) -> RunFigures:
    """Return the figures of one run, over everything that was planned."""
    run, summary, repetitions = observed.run, observed.summary, observed.repetitions
    correct_of = observed.columns.correct_of()
    correct_of[0] += observed.lost
    judged = summary.total - summary.errors
    ks = range(1, repetitions + 1) if correct_of.total() else range(0)
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
        wilson=summary.interval,
        stderr=summary.stderr,
        outcomes=summary.outcomes,
        errors=summary.errors,
        coverage=summary.coverage,
        agent_error_rate=summary.outcomes.get("agent_error", 0) / summary.total if summary.total else None,
        accuracy_high=summary.accuracy_high,
        pass_at={k: pass_at(correct_of, repetitions=repetitions, k=k) for k in ks},
        pass_all={k: pass_all(correct_of, repetitions=repetitions, k=k) for k in ks},
        latency_ms=summary.latency_ms,
    )
