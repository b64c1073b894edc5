"""Makers of decisions from outcomes."""

from collections.abc import Sequence

from bench_assets.analysis.baselines import Baseline
from bench_assets.analysis.comparison import compare
from bench_assets.analysis.gate import decide
from bench_assets.contracts.comparison import Comparison
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.gate_policy import GatePolicy
from bench_assets.contracts.outcome import Outcome
from tests.analysis.observing import observed

Before = tuple[str, Sequence[Outcome]]


def decided(
    run_id: str, candidate: str, outcomes: Sequence[Outcome], before: Before | None
) -> tuple[GateDecision, Comparison | None]:
    """The gate's decision on a run of questions q1, q2, …, against a candidate with its outcomes or against nothing."""

    def of(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
        return {f"q{number}": outcome for number, outcome in enumerate(outcomes, start=1)}

    after = observed(of(outcomes), candidate, run={"run_id": run_id})
    baseline = Baseline(None, None, "There is no other.")
    comparison = None
    if before is not None:
        earlier = observed(of(before[1]), before[0])
        baseline = Baseline(before[0], earlier.run.run_id, "It is the accepted one.")
        comparison = compare(earlier, after)
    time = "2026-01-01T00:00:00.000000+00:00"
    return decide(GatePolicy(), candidate=after, baseline=baseline, comparison=comparison, decided_at=time), comparison
