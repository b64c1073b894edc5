"""The figures of one run, from one pass over its answers and scores.

Every execution that was planned is in the denominator, whatever became of it: an error, a failed judgement or a
missing row can lower a rate, and never raise it.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from bench_assets.analysis.intervals import share_interval
from bench_assets.contracts.answer import ErrorInfo
from bench_assets.contracts.outcome import OUTCOMES, Outcome
from bench_assets.contracts.run import Latency, Summary
from bench_assets.contracts.score import ScoreRecord
from bench_assets.errors import InvalidInput


class AnswerLike(Protocol):
    """What a summary needs of an answer: an `AnswerRecord`, or a row that has the same."""

    @property
    def id(self) -> str:
        """The question's id."""

    @property
    def repetition(self) -> int:
        """From 1."""

    @property
    def duration_ms(self) -> int:
        """Of the last attempt."""

    @property
    def error(self) -> ErrorInfo | None:
        """None where there was an answer."""


def summarize(
    pairs: Iterable[tuple[AnswerLike, ScoreRecord]], *, questions: int, repetitions: int, partial: bool
) -> Summary:
    """Return the summary of a run from its answers, each with its score, in any order.

    `questions` × `repetitions` is what was planned; what is not among the pairs counts as `missing`. `partial` is True
    when the plan covers only a part of its dataset. Rates without a denominator are None. Raises InvalidInput when
    there is more than was planned, an execution twice, or a score of another question.
    """
    planned = questions * repetitions
    outcomes: Counter[Outcome] = Counter(dict.fromkeys(OUTCOMES, 0))
    kinds: Counter[str] = Counter()
    correct_of: dict[str, int] = {}
    seen: set[tuple[str, int]] = set()
    durations = array("q")
    value = 0.0
    for answer, score in pairs:
        _check(answer, score, seen)
        outcomes[score.outcome] += 1
        value += score.value or 0.0
        correct_of[answer.id] = correct_of.get(answer.id, 0) + (score.outcome == "correct")
        if answer.error is None and score.outcome != "missing":
            durations.append(answer.duration_ms)
        if score.outcome == "agent_error":
            kinds[answer.error.kind if answer.error else "bad_answer"] += 1
        elif score.outcome == "judge_error":
            kinds[score.error.code if score.error else "unknown"] += 1
    if len(seen) > planned or len(correct_of) > questions:
        raise InvalidInput(
            f"The scores hold {len(seen)} executions of {len(correct_of)} questions, but {questions} questions × "
            f"{repetitions} repetitions were planned. They belong to another plan: score this one's answers again."
        )
    outcomes["missing"] += planned - len(seen)
    correct, attempted = outcomes["correct"], outcomes["correct"] + outcomes["incorrect"]
    settled = attempted + outcomes["not_attempted"]
    accuracy = _ratio(correct, planned)
    precision = _ratio(correct, attempted)
    means = [count / repetitions for count in correct_of.values()] + [0.0] * (questions - len(correct_of))
    stderr = standard_error(means)
    return Summary(
        total=planned,
        attempted=attempted,
        correct=correct,
        accuracy=accuracy,
        avg_score=None if planned == 0 else value / planned,
        precision=precision,
        recall=accuracy,
        f1=f1_of(precision, accuracy),
        judged=outcomes["judge_error"] == 0 and outcomes["missing"] == 0,
        questions=questions,
        executions=planned,
        repetitions=repetitions,
        outcomes=dict(outcomes),
        errors=planned - settled,
        error_kinds=dict(sorted(kinds.items())),
        coverage=_ratio(settled, planned),
        accuracy_low=accuracy,
        accuracy_high=_ratio(correct + planned - settled, planned),
        stderr=stderr,
        interval=share_interval(accuracy, stderr=stderr, questions=questions, repetitions=repetitions),
        latency_ms=latency(durations),
        partial=partial or outcomes["missing"] > 0,
    )


def f1_of(precision: float | None, recall: float | None) -> float | None:
    """Return 2PR / (P + R); None when either is None, 0.0 when both are 0."""
    if precision is None or recall is None:
        return None
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def standard_error(means: Sequence[float]) -> float | None:
    """Return the standard error of the mean of independent `means`, one a question; None for fewer than two.

    Repetitions of a question are not independent of each other, so a question is one observation however often it was
    asked: sample standard deviation (n - 1) / √n.
    """
    count = len(means)
    if count < 2:
        return None
    middle = math.fsum(means) / count
    return math.sqrt(math.fsum((mean - middle) ** 2 for mean in means) / (count - 1) / count)


def quantile(ordered: Sequence[int], share: float) -> float:
    """Return the quantile of ascending values, interpolated linearly between the nearest two ranks.

    The rank is `share` × (n - 1), from 0: Postgres's `percentile_cont`. Raises IndexError when there are no values.
    """
    rank = share * (len(ordered) - 1)
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def latency(durations: Iterable[int]) -> Latency | None:
    """Return the quantiles of durations in milliseconds; None when there are none."""
    ordered = sorted(durations)
    if not ordered:
        return None
    return Latency(
        p50=quantile(ordered, 0.5), p90=quantile(ordered, 0.9), p99=quantile(ordered, 0.99), max=float(ordered[-1])
    )


def _check(answer: AnswerLike, score: ScoreRecord, seen: set[tuple[str, int]]) -> None:
    key = (answer.id, answer.repetition)
    if key != (score.id, score.repetition):
        raise InvalidInput(
            f"The score of `{score.id}` (repetition {score.repetition}) stands beside the answer to `{answer.id}` "
            f"(repetition {answer.repetition}). Score these answers again."
        )
    if key in seen:
        raise InvalidInput(f"`{answer.id}` (repetition {answer.repetition}) is there twice. Score the answers again.")
    seen.add(key)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
