"""The figures of one run, from one pass over its answers and scores.

Every execution that was planned is in the denominator, whatever became of it: an error, a failed judgement or a
missing row can lower a rate, and never raise it.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from bench_assets.analysis.intervals import share_interval
from bench_assets.contracts.answer import ErrorInfo
from bench_assets.contracts.outcome import OUTCOMES, Outcome
from bench_assets.contracts.run import Latency, Summary
from bench_assets.contracts.score import ScoreRecord
from bench_assets.errors import InvalidInput
from bench_assets.text_numbers import TextNumbers

SEEN, CORRECT = 1, 2
"""What is kept of an execution: a byte, which is 0 for one that never came."""
MANY = 10_000
"""So many durations are sorted without making a Python object of each."""


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
    when the plan covers only a part of its dataset. Rates without a denominator are None. Holds about 40 bytes a
    question. Raises InvalidInput when there is more than was planned, an execution twice, or a score of another
    question.
    """
    planned = questions * repetitions
    outcomes: Counter[Outcome] = Counter(dict.fromkeys(OUTCOMES, 0))
    kinds: Counter[str] = Counter()
    seen = _Seen(repetitions)
    durations = array("q")
    value = 0.0
    for answer, score in pairs:
        seen.add(answer, score)
        outcomes[score.outcome] += 1
        value += score.value or 0.0
        if answer.error is None and score.outcome != "missing":
            durations.append(answer.duration_ms)
        if score.outcome == "agent_error":
            kinds[answer.error.kind if answer.error else "bad_answer"] += 1
        elif score.outcome == "judge_error":
            kinds[score.error.code if score.error else "unknown"] += 1
    if seen.executions > planned or seen.questions > questions or seen.beyond:
        raise InvalidInput(
            f"The scores hold {seen.executions} executions of {seen.questions} questions, but {questions} questions × "
            f"{repetitions} repetitions were planned. They belong to another plan: score this one's answers again."
        )
    outcomes["missing"] += planned - seen.executions
    correct, attempted = outcomes["correct"], outcomes["correct"] + outcomes["incorrect"]
    settled = attempted + outcomes["not_attempted"]
    accuracy = _ratio(correct, planned)
    precision = _ratio(correct, attempted)
    correct_of = seen.correct_of()
    correct_of[0] += questions - seen.questions
    stderr = clustered_error(correct_of, repetitions=repetitions)
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


def clustered_error(correct_of: Mapping[int, int], *, repetitions: int) -> float | None:
    """Return `standard_error` from how many questions have 0, 1, 2, … of their `repetitions` correct."""
    count = sum(correct_of.values())
    if count < 2:
        return None
    middle = sum(correct * number for correct, number in correct_of.items()) / (count * repetitions)
    squares = math.fsum(number * (correct / repetitions - middle) ** 2 for correct, number in correct_of.items())
    return math.sqrt(squares / (count - 1) / count)


def quantile(ordered: Sequence[int], share: float) -> float:
    """Return the quantile of ascending values, interpolated linearly between the nearest two ranks.

    The rank is `share` × (n - 1), from 0: Postgres's `percentile_cont`. Raises IndexError when there are no values.
    """
    rank = share * (len(ordered) - 1)
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def latency(durations: Iterable[int]) -> Latency | None:
    """Return the quantiles of durations in milliseconds; None when there are none. May put an array into order."""
    ordered = _sorted(durations)
    if not len(ordered):
        return None
    return Latency(
        p50=quantile(ordered, 0.5), p90=quantile(ordered, 0.9), p99=quantile(ordered, 0.99), max=float(ordered[-1])
    )


def _sorted(durations: Iterable[int]) -> Sequence[int]:
    numbers = durations if isinstance(durations, array) and durations.typecode == "q" else array("q", durations)
    if len(numbers) < MANY:
        return sorted(numbers)
    import numpy as np

    np.frombuffer(numbers, dtype=np.int64).sort()  # in its place, as there is no need for another one
    return numbers


class _Seen:
    """Which executions came, and which of them are correct."""

    def __init__(self, repetitions: int) -> None:
        self._repetitions = repetitions
        self._questions = TextNumbers()
        self._states = bytearray()  # by question's number and repetition
        self.executions = 0
        self.beyond = 0
        """Executions of a repetition that was not planned."""

    @property
    def questions(self) -> int:
        """How many distinct questions came."""
        return len(self._questions)

    def add(self, answer: AnswerLike, score: ScoreRecord) -> None:
        """Note an execution. Raises InvalidInput for a score of another one, and for one that came already."""
        if (answer.id, answer.repetition) != (score.id, score.repetition):
            raise InvalidInput(
                f"The score of `{score.id}` (repetition {score.repetition}) stands beside the answer to `{answer.id}` "
                f"(repetition {answer.repetition}). Score these answers again."
            )
        number, is_new = self._questions.add(answer.id)
        if is_new:
            self._states += bytes(self._repetitions)
        self.executions += 1
        if not 1 <= answer.repetition <= self._repetitions:
            self.beyond += 1
            return
        place = number * self._repetitions + answer.repetition - 1
        if self._states[place]:
            raise InvalidInput(
                f"`{answer.id}` (repetition {answer.repetition}) is there twice. Score the answers again."
            )
        self._states[place] = CORRECT if score.outcome == "correct" else SEEN

    def correct_of(self) -> Counter[int]:
        """Return how many questions have 0, 1, 2, … repetitions correct."""
        states, step = self._states, self._repetitions
        if step == 1:
            return Counter({0: states.count(SEEN), 1: states.count(CORRECT)})
        return Counter(states.count(CORRECT, at, at + step) for at in range(0, len(states), step))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
