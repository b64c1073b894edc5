"""What became of each question."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from bench_assets.analysis.columns import CODES, CORRECT
from bench_assets.analysis.population import NOWHERE, Pairs, pair_questions
from bench_assets.analysis.runs import MISSING, Detail, Observation, ObservedRun
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.comparison import Shown, Transition, TransitionKind
from bench_assets.contracts.outcome import OUTCOMES, Outcome

if TYPE_CHECKING:
    import numpy as np

KINDS: tuple[TransitionKind, ...] = get_args(TransitionKind)

CHANGES_FIRST: tuple[TransitionKind, ...] = (
    "broken",
    "to_error",
    "flaky",
    "fixed",
    "from_error",
    "still_wrong",
    "still_error",
    "still_right",
)
"""In the order in which a person wants to see them."""

MOST_LISTED = 20_000
"""Questions that a comparison or a report lists with their texts; of more, what changed comes first."""

Side = Literal["right", "wrong", "error", "flaky"]
SIDES: tuple[Side, ...] = get_args(Side)

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


def sides_of(codes: "np.ndarray") -> "np.ndarray":
    """Return `side_of` of each row of outcome codes, as places in SIDES."""
    import numpy as np

    correct = (codes == CORRECT).sum(axis=1, dtype=np.uint32)
    sides = np.full(len(codes), SIDES.index("wrong"), dtype=np.uint8)
    sides[np.isin(codes, [CODES[outcome] for outcome in WITHOUT_VERDICT]).any(axis=1)] = SIDES.index("error")
    sides[correct > 0] = SIDES.index("flaky")
    sides[correct == codes.shape[1]] = SIDES.index("right")
    return sides


def kind_of(baseline: Sequence[Outcome], candidate: Sequence[Outcome]) -> TransitionKind:
    """Return what became of a question, from its outcomes in both runs."""
    return OF_SIDES.get((side_of(baseline), side_of(candidate)), "flaky")


def kinds_of(pairs: Pairs) -> "np.ndarray":
    """Return `kind_of` of each common question, as places in KINDS."""
    import numpy as np

    table = [[KINDS.index(OF_SIDES.get((before, after), "flaky")) for after in SIDES] for before in SIDES]
    sides = sides_of(pairs.codes("baseline")), sides_of(pairs.codes("candidate"))
    kinds: np.ndarray = np.array(table, dtype=np.uint8)[sides]
    return kinds


def count_kinds(kinds: "np.ndarray") -> dict[TransitionKind, int]:
    """Return how many questions there are of each kind, zeros included; `kinds` are places in KINDS."""
    import numpy as np

    counts = np.bincount(kinds, minlength=len(KINDS))
    return {kind: int(counts[place]) for place, kind in enumerate(KINDS)}


def listed(kinds: "np.ndarray", *, order: Sequence[int], most: int) -> list[int]:
    """Return the places of the first `most` questions to list, ascending; `order` says which kinds come first."""
    import numpy as np

    found: list[int] = []
    for kind in order:
        found += np.flatnonzero(kinds == kind)[: most - len(found)].tolist()
    return sorted(found)


def transitions_of(
    pairs: Pairs, kinds: "np.ndarray", *, meta: Mapping[str, Mapping[str, JsonValue]], most: int = MOST_LISTED
) -> Iterator[Transition]:
    """Yield the transitions of at most so many common questions, in the candidate's order, with texts and reasons.

    Of more than that, what changed comes first. Reads both runs' files again.
    """
    places = listed(kinds, order=[KINDS.index(kind) for kind in CHANGES_FIRST], most=most)
    before = dict(pairs.baseline.details({pairs.before[place] for place in places} - {NOWHERE}))
    after = dict(pairs.candidate.details({pairs.after[place] for place in places} - {NOWHERE}))
    for place in places:
        early, late = before.pop(pairs.before[place], None), after.pop(pairs.after[place], None)
        known = late or early
        assert known is not None
        yield Transition(
            id=known.id,
            question=known.question,
            golden=known.golden,
            kind=KINDS[kinds[place]],
            meta=dict(meta.get(known.id, {})),
            baseline=shown(_executions(early, pairs.repetitions)),
            candidate=shown(_executions(late, pairs.repetitions)),
        )


def _executions(detail: Detail | None, repetitions: int) -> tuple[Observation, ...]:
    return (MISSING,) * repetitions if detail is None else detail.executions[:repetitions]


class Outcomes(NamedTuple):
    """A `TransitionRow`."""

    id: str
    kind: TransitionKind
    baseline_outcome: Outcome | None
    candidate_outcome: Outcome | None
    baseline_score: float
    candidate_score: float


@dataclass(frozen=True)
class AllTransitions:
    """What became of every common question of two runs, each time it is iterated over."""

    baseline: ObservedRun
    candidate: ObservedRun

    def __iter__(self) -> Iterator[Outcomes]:
        """Yield a row a common question, in the candidate's order."""
        _, pairs = pair_questions(self.baseline, self.candidate)
        before, after = pairs.codes("baseline"), pairs.codes("candidate")
        for id_, kind, early, late in zip(pairs.ids(), kinds_of(pairs), before, after, strict=True):
            ends = [one.tolist() for one in (early, late)]
            outcomes = [OUTCOMES[one[0]] if len(set(one)) == 1 else None for one in ends]
            scores = [one.count(CORRECT) / len(one) for one in ends]
            yield Outcomes(id_, KINDS[kind], outcomes[0], outcomes[1], scores[0], scores[1])


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
