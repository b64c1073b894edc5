"""Two finished runs, compared: conditions first, then figures, then each question."""

from collections.abc import Mapping, Sequence

from bench_assets.analysis.comparability import comparable, conditions, some
from bench_assets.analysis.groups import group_fields, groups
from bench_assets.analysis.paired import paired_effect
from bench_assets.analysis.population import Pairs, Side, pair_questions
from bench_assets.analysis.rates import run_figures
from bench_assets.analysis.ratios import cost_ratio, latency_ratio
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.sentences import comparison_notes
from bench_assets.analysis.transitions import (
    MOST_LISTED,
    UNJUDGED,
    WITHOUT_VERDICT,
    count_kinds,
    kinds_of,
    transitions_of,
)
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.comparison import Bounds, Comparison, Effect
from bench_assets.contracts.outcome import Outcome
from bench_assets.errors import InvalidInput


def compare(
    baseline: ObservedRun,
    candidate: ObservedRun,
    *,
    fields: Sequence[str] | None = None,
    most_listed: int = MOST_LISTED,
) -> Comparison:
    """Hold a candidate's run against its baseline's.

    Runs that cannot be compared fairly are compared all the same on the questions they share; `comparable` and
    `differences` say so. `fields` names the meta fields to group by; None takes those that make groups. Every figure is
    over all common questions; `most_listed` of them are listed with their texts. Raises InvalidInput for a meta field
    that no question has.
    """
    population, pairs = pair_questions(baseline, candidate)
    differences = conditions(baseline.run, candidate.run, population)
    meta = _meta(baseline, candidate)
    for name in fields or ():
        if not any(name in one for one in meta.values()):
            known = some(sorted({key for one in meta.values() for key in one}), most=20) or "none"
            raise InvalidInput(f"No question has a meta field `{name}` to group by. The fields are: {known}.")
    kinds = kinds_of(pairs)
    sides = run_figures(baseline), run_figures(candidate)
    unjudged = any(pairs.right(side, also=UNJUDGED) != pairs.right(side) for side in BOTH)
    rates = [side.accuracy for side in sides if side.accuracy is not None]
    transitions = list(transitions_of(pairs, kinds, meta=meta, most=most_listed)) if most_listed else []
    comparison = Comparison(
        benchmark=candidate.run.benchmark,
        comparable=comparable(differences),
        differences=differences,
        population=population,
        baseline=sides[0],
        candidate=sides[1],
        headline_delta=rates[1] - rates[0] if len(rates) == 2 else None,
        effect=_effect(pairs),
        unjudged_against=_effect(pairs, right_in_baseline=UNJUDGED) if unjudged else None,
        unjudged_for=_effect(pairs, right_in_candidate=UNJUDGED) if unjudged else None,
        bounds=_bounds(pairs),
        counts=count_kinds(kinds),
        groups=groups(pairs, kinds, meta=meta, fields=group_fields(meta) if fields is None else fields),
        latency=latency_ratio(pairs),
        cost=cost_ratio(pairs),
        notes=[],
        transitions=transitions,
        left_out=len(pairs) - len(transitions),
    )
    return comparison.model_copy(update={"notes": comparison_notes(comparison)})


BOTH: tuple[Side, Side] = ("baseline", "candidate")
NONE: frozenset[Outcome] = frozenset()


def _meta(baseline: ObservedRun, candidate: ObservedRun) -> Mapping[str, Mapping[str, JsonValue]]:
    """Return the meta of both runs' questions, the candidate's where they differ."""
    if not baseline.meta or (candidate.meta and baseline.run.dataset_digest == candidate.run.dataset_digest):
        return candidate.meta
    return {**baseline.meta, **candidate.meta} if candidate.meta else baseline.meta


def _effect(
    pairs: Pairs, *, right_in_baseline: frozenset[Outcome] = NONE, right_in_candidate: frozenset[Outcome] = NONE
) -> Effect | None:
    if not len(pairs):
        return None
    return paired_effect(
        pairs.right("baseline", also=right_in_baseline),
        pairs.right("candidate", also=right_in_candidate),
        repetitions=pairs.repetitions,
    )


def _bounds(pairs: Pairs) -> Bounds | None:
    if not len(pairs):
        return None
    # What is right or has no verdict, less what is right.
    right = [sum(pairs.right(side)) for side in BOTH]
    open_ones = [sum(pairs.right(side, also=WITHOUT_VERDICT)) - known for side, known in zip(BOTH, right, strict=True)]
    executions = len(pairs) * pairs.repetitions
    steps = right[1] - right[0]
    return Bounds(
        without_verdict_baseline=open_ones[0],
        without_verdict_candidate=open_ones[1],
        low=(steps - open_ones[0]) / executions,
        high=(steps + open_ones[1]) / executions,
    )
