"""Which questions two runs share. Only questions with equal identity are compared."""

from dataclasses import dataclass

from bench_assets.analysis.runs import Asked, Observation, ObservedRun
from bench_assets.contracts.comparison import Population


@dataclass(frozen=True, slots=True)
class PairedQuestion:
    """A question of both runs, with as many repetitions of each as both have."""

    id: str
    asked: Asked
    baseline: tuple[Observation, ...]
    candidate: tuple[Observation, ...]


def pair_questions(baseline: ObservedRun, candidate: ObservedRun) -> tuple[Population, list[PairedQuestion]]:
    """Return what became of the population, and the common questions in the candidate's order.

    A question that a run planned and never settled is not gone: it is `missing` there, which counts as not correct.
    With different numbers of repetitions the first ones of each run are compared.
    """
    repetitions = min(baseline.repetitions, candidate.repetitions)
    unsettled = (Observation("missing"),) * repetitions
    added: list[str] = []
    removed: list[str] = []
    edited_questions: list[str] = []
    edited_goldens: list[str] = []
    pairs: list[PairedQuestion] = []
    only_baseline = [id_ for id_ in baseline.asked if id_ not in candidate.asked]
    for id_ in (*candidate.asked, *only_baseline):
        before, after = baseline.asked.get(id_), candidate.asked.get(id_)
        if after is None and not candidate.planned(id_, dataset_digest=baseline.run.dataset_digest):
            removed.append(id_)
        elif before is None and not baseline.planned(id_, dataset_digest=candidate.run.dataset_digest):
            added.append(id_)
        elif before is not None and after is not None and before.question != after.question:
            edited_questions.append(id_)
        elif before is not None and after is not None and before.goldens != after.goldens:
            edited_goldens.append(id_)
        elif (asked := after or before) is not None:
            pairs.append(
                PairedQuestion(
                    id=id_,
                    asked=asked,
                    baseline=baseline.executions.get(id_, unsettled)[:repetitions],
                    candidate=candidate.executions.get(id_, unsettled)[:repetitions],
                )
            )
    population = Population(
        common=len(pairs),
        added=added,
        removed=removed,
        edited_questions=edited_questions,
        edited_goldens=edited_goldens,
    )
    return population, pairs
