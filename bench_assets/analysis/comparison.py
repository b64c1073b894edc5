"""Two finished runs, compared: conditions first, then figures, then each question."""

from collections.abc import Iterable, Sequence

from bench_assets.analysis.comparability import comparable, conditions, some
from bench_assets.analysis.groups import group_fields, groups
from bench_assets.analysis.paired import paired_effect
from bench_assets.analysis.population import PairedQuestion, pair_questions
from bench_assets.analysis.rates import run_figures
from bench_assets.analysis.ratios import cost_ratio, latency_ratio
from bench_assets.analysis.runs import Observation, ObservedRun
from bench_assets.analysis.sentences import comparison_notes
from bench_assets.analysis.transitions import UNJUDGED, WITHOUT_VERDICT, count_kinds, transition
from bench_assets.contracts.comparison import Bounds, Comparison, Effect
from bench_assets.contracts.outcome import Outcome
from bench_assets.errors import InvalidInput


def compare(baseline: ObservedRun, candidate: ObservedRun, *, fields: Sequence[str] | None = None) -> Comparison:
    """Hold a candidate's run against its baseline's.

    Runs that cannot be compared fairly are compared all the same on the questions they share; `comparable` and
    `differences` say so. `fields` names the meta fields to group by; None takes those that make groups. Raises
    InvalidInput for a meta field that no question has.
    """
    population, pairs = pair_questions(baseline, candidate)
    differences = conditions(baseline.run, candidate.run, population)
    meta = {**baseline.meta, **candidate.meta}
    for name in fields or ():
        if not any(name in one for one in meta.values()):
            known = some(sorted({key for one in meta.values() for key in one}), most=20) or "none"
            raise InvalidInput(f"No question has a meta field `{name}` to group by. The fields are: {known}.")
    transitions = [transition(pair, meta=meta.get(pair.id, {})) for pair in pairs]
    sides = run_figures(baseline), run_figures(candidate)
    unjudged = any(one.outcome in UNJUDGED for pair in pairs for one in (*pair.baseline, *pair.candidate))
    rates = [side.accuracy for side in sides if side.accuracy is not None]
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
        counts=count_kinds(transitions),
        groups=groups(transitions, meta=meta, fields=group_fields(meta) if fields is None else fields),
        latency=latency_ratio(pairs),
        cost=cost_ratio(pairs),
        notes=[],
        transitions=transitions,
    )
    return comparison.model_copy(update={"notes": comparison_notes(comparison)})


NONE: frozenset[Outcome] = frozenset()


def _effect(
    pairs: Sequence[PairedQuestion],
    *,
    right_in_baseline: frozenset[Outcome] = NONE,
    right_in_candidate: frozenset[Outcome] = NONE,
) -> Effect | None:
    if not pairs:
        return None
    return paired_effect(
        [_right(pair.baseline, right_in_baseline) for pair in pairs],
        [_right(pair.candidate, right_in_candidate) for pair in pairs],
        repetitions=len(pairs[0].candidate),
    )


def _right(executions: Iterable[Observation], also: frozenset[Outcome]) -> int:
    return sum(one.outcome == "correct" or one.outcome in also for one in executions)


def _bounds(pairs: Sequence[PairedQuestion]) -> Bounds | None:
    if not pairs:
        return None
    open_before = sum(one.outcome in WITHOUT_VERDICT for pair in pairs for one in pair.baseline)
    open_after = sum(one.outcome in WITHOUT_VERDICT for pair in pairs for one in pair.candidate)
    executions = len(pairs) * len(pairs[0].candidate)
    steps = sum(_right(pair.candidate, NONE) - _right(pair.baseline, NONE) for pair in pairs)
    return Bounds(
        without_verdict_baseline=open_before,
        without_verdict_candidate=open_after,
        low=(steps - open_before) / executions,
        high=(steps + open_after) / executions,
    )
