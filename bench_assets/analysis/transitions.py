"""What became of each question."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from bench_assets.analysis.population import PairedQuestion
from bench_assets.analysis.runs import Observation
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.comparison import Shown, Transition, TransitionKind
from bench_assets.contracts.outcome import Outcome

KINDS: tuple[TransitionKind, ...] = get_args(TransitionKind)

Side = Literal["right", "wrong", "error", "flaky"]

WITHOUT_VERDICT = frozenset[Outcome]({"agent_error", "judge_error", "missing"})

UNJUDGED = frozenset[Outcome]({"judge_error", "missing"})
"""Outcomes that say nothing about the agent."""

OF_SIDES: dict[tuple[Side, Side], TransitionKind] = {
    ("right", "right"): "still_right",
    ("wrong", "wrong"): "still_wrong",
    ("error", "error"): "still_error",
    ("wrong", "right"): "fixed",
    ("right", "wrong"): "broken",
    ("right", "error"): "to_error",
    ("wrong", "error"): "to_error",
    ("error", "right"): "from_error",
    ("error", "wrong"): "from_error",
}


def side_of(outcomes: Sequence[Outcome]) -> Side:
    """Return what the repetitions of one question in one run come to."""
    correct = sum(outcome == "correct" for outcome in outcomes)
    if correct == len(outcomes):
        return "right"
    if correct:
        return "flaky"
    return "error" if WITHOUT_VERDICT.intersection(outcomes) else "wrong"


def kind_of(baseline: Sequence[Outcome], candidate: Sequence[Outcome]) -> TransitionKind:
    """Return what became of a question, from its outcomes in both runs."""
    return OF_SIDES.get((side_of(baseline), side_of(candidate)), "flaky")


def transition(pair: PairedQuestion, *, meta: Mapping[str, JsonValue]) -> Transition:
    """Return a common question's transition with both answers and both reasons."""
    return Transition(
        id=pair.id,
        question=pair.asked.question,
        golden=pair.asked.golden,
        kind=kind_of([one.outcome for one in pair.baseline], [one.outcome for one in pair.candidate]),
        meta=dict(meta),
        baseline=shown(pair.baseline),
        candidate=shown(pair.candidate),
    )


def shown(executions: Iterable[Observation]) -> list[Shown]:
    """Return the repetitions of a question as a report shows them."""
    return [
        Shown(
            repetition=number,
            outcome=one.outcome,
            answer=one.answer,
            reason=one.reason,
            error=one.error,
            duration_ms=one.duration_ms,
        )
        for number, one in enumerate(executions, start=1)
    ]


def count_kinds(transitions: Iterable[Transition]) -> dict[TransitionKind, int]:
    """Return how many questions there are of each kind, zeros included."""
    counts = Counter(one.kind for one in transitions)
    return {kind: counts[kind] for kind in KINDS}
