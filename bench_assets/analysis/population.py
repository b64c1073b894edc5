"""Which questions two runs share. Only questions with equal identity are compared."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench_assets.analysis.columns import CODES, CORRECT, MISSING
from bench_assets.analysis.runs import ObservedRun
from bench_assets.contracts.comparison import Population
from bench_assets.contracts.outcome import Outcome

if TYPE_CHECKING:
    import numpy as np

Side = Literal["baseline", "candidate"]
NOWHERE = -1
"""Instead of a question's number, where a run planned it and it never came."""


@dataclass(frozen=True)
class Pairs:
    """The common questions in the candidate's order, with as many repetitions of each as both runs have."""

    baseline: ObservedRun
    candidate: ObservedRun
    repetitions: int
    before: "array[int]"
    """Their numbers in the baseline, or NOWHERE."""
    after: "array[int]"
    """Likewise in the candidate."""

    def __len__(self) -> int:
        """Return how many common questions there are."""
        return len(self.after)

    def ids(self) -> Iterator[str]:
        """Yield their ids."""
        for before, after in zip(self.before, self.after, strict=True):
            yield self.baseline.columns.id(before) if after == NOWHERE else self.candidate.columns.id(after)

    def codes(self, side: Side) -> "np.ndarray":
        """Return the codes of a run's outcomes: a row a question, a column a repetition."""
        return self._rows(side, self._run(side).columns.codes(), nowhere=MISSING)

    def right(self, side: Side, *, also: frozenset[Outcome] = frozenset()) -> list[int]:
        """Return how many repetitions of each question are correct, or ended in one of `also`."""
        import numpy as np

        counted = [CORRECT, *(CODES[outcome] for outcome in also)]
        found: list[int] = np.isin(self.codes(side), counted).sum(axis=1).tolist()
        return found

    def quantity(self, side: Side, name: str) -> "np.ndarray | None":
        """Return `durations`, `money` or `tokens` as `codes`, NaN for none; None where the whole run has none."""
        found = self._run(side).columns.quantity(name)
        return None if found is None else self._rows(side, found, nowhere=float("nan"))

    def _run(self, side: Side) -> ObservedRun:
        return self.baseline if side == "baseline" else self.candidate

    def _rows(self, side: Side, values: "np.ndarray", *, nowhere: float) -> "np.ndarray":
        import numpy as np

        numbers = np.array(self.before if side == "baseline" else self.after, dtype=np.int64)
        if not len(values):
            return np.full((len(numbers), self.repetitions), nowhere, dtype=values.dtype)
        rows = values[:, : self.repetitions][numbers]
        rows[numbers == NOWHERE] = nowhere
        return rows


def pair_questions(baseline: ObservedRun, candidate: ObservedRun) -> tuple[Population, Pairs]:
    """Return what became of the population, and the common questions in the candidate's order.

    A question that a run planned and never settled is not gone: it is `missing` there, which counts as not correct.
    With different numbers of repetitions the first ones of each run are compared.
    """
    added: list[str] = []
    removed: list[str] = []
    edited_questions: list[str] = []
    edited_goldens: list[str] = []
    one, other = baseline.columns, candidate.columns
    pairs = Pairs(baseline, candidate, min(baseline.repetitions, candidate.repetitions), array("q"), array("q"))
    for after, id_ in enumerate(other.ids()):
        before = one.numbers.find(id_)
        if before is None:
            if not baseline.planned(id_, dataset_digest=candidate.run.dataset_digest):
                added.append(id_)
                continue
            before = NOWHERE
        elif one.asked(before)[0] != other.asked(after)[0]:
            edited_questions.append(id_)
            continue
        elif one.asked(before)[1] != other.asked(after)[1]:
            edited_goldens.append(id_)
            continue
        pairs.before.append(before)
        pairs.after.append(after)
    for before, id_ in enumerate(one.ids()):
        if id_ in other.numbers:
            continue
        if candidate.planned(id_, dataset_digest=baseline.run.dataset_digest):
            pairs.before.append(before)
            pairs.after.append(NOWHERE)
        else:
            removed.append(id_)
    population = Population(
        common=len(pairs),
        added=added,
        removed=removed,
        edited_questions=edited_questions,
        edited_goldens=edited_goldens,
    )
    return population, pairs
