"""May the candidate take its baseline's place?"""

import math
from collections.abc import Iterator

from bench_assets.analysis.baselines import Baseline
from bench_assets.analysis.conditions import (
    agent_errors_check,
    comparable_check,
    cost_check,
    coverage_check,
    judge_check,
    latency_check,
    must_pass_check,
)
from bench_assets.analysis.drop import accuracy_check, detectable_by_gate, gate_interval
from bench_assets.analysis.intervals import normal_quantile
from bench_assets.analysis.paired import adjusted
from bench_assets.analysis.runs import ObservedRun
from bench_assets.contracts.comparison import Comparison, Effect
from bench_assets.contracts.gate import CheckStatus, GateCheck, GateDecision, Verdict
from bench_assets.contracts.gate_policy import GatePolicy

ORDER: tuple[CheckStatus, ...] = ("fail", "unknown", "pass")


def decide(
    policy: GatePolicy,
    *,
    candidate: ObservedRun,
    baseline: Baseline,
    comparison: Comparison | None,
    decided_at: str,
    judge_kappa: float | None = None,
    p_value: float | None = None,
) -> GateDecision:
    """Return the gate's decision on a candidate's finished run.

    NO-GO when one condition of the policy is broken; otherwise INCONCLUSIVE when the data cannot tell for one of them;
    otherwise GO. A first candidate, with nothing to be held against, is judged by the conditions on itself.

    Args:
        policy: what is asked of a candidate.
        candidate: the run to decide on.
        baseline: what `choose_baseline` chose.
        comparison: the candidate against that baseline; None when there is none.
        decided_at: ISO 8601, UTC: the caller's clock.
        judge_kappa: the judge's measured agreement with people; None when nobody measured it.
        p_value: the comparison's, corrected for several candidates (`holm`); None takes it as it is.
    """
    effect = comparison.effect if comparison else None
    checks = sorted(
        [
            GateCheck(name="baseline", status="unknown" if baseline.needed else "pass", reason=baseline.reason),
            *_own_checks(policy, candidate, judge_kappa),
            *(_paired_checks(policy, comparison, p_value) if comparison else ()),
        ],
        key=lambda check: ORDER.index(check.status),
    )
    return GateDecision(
        benchmark=candidate.run.benchmark,
        candidate=candidate.run.candidate,
        run_id=candidate.run.run_id,
        baseline=baseline.candidate,
        baseline_run_id=baseline.run_id,
        verdict=verdict_of(checks),
        checks=checks,
        comparable=comparison.comparable if comparison else None,
        delta=effect.delta if effect else None,
        interval=gate_interval(effect, policy) if effect else None,
        p_value=None if effect is None else effect.p_value if p_value is None else p_value,
        n=effect.n if effect else None,
        detectable_drop=detectable_by_gate(effect, policy) if effect else None,
        questions_needed=_needed(effect, policy, checks) if effect else None,
        policy=policy,
        decided_at=decided_at,
    )


def verdict_of(checks: list[GateCheck]) -> Verdict:
    """Return what a list of conditions comes to."""
    found = {check.status for check in checks}
    return "NO-GO" if "fail" in found else "INCONCLUSIVE" if "unknown" in found else "GO"


def _own_checks(policy: GatePolicy, candidate: ObservedRun, judge_kappa: float | None) -> Iterator[GateCheck]:
    yield coverage_check(policy, candidate)
    if policy.max_error_rate is not None:
        yield agent_errors_check(candidate, limit=policy.max_error_rate)
    if policy.min_judge_kappa is not None:
        yield judge_check(candidate, kappa=judge_kappa, least=policy.min_judge_kappa)
    if policy.must_pass:
        yield must_pass_check(candidate, ids=policy.must_pass)


def _paired_checks(policy: GatePolicy, comparison: Comparison, p_value: float | None) -> Iterator[GateCheck]:
    yield comparable_check(policy, comparison)
    yield accuracy_check(policy, comparison, p_value=p_value)
    if policy.max_latency_ratio is not None:
        yield latency_check(comparison, limit=policy.max_latency_ratio)
    if policy.max_cost_ratio is not None:
        yield cost_check(comparison, limit=policy.max_cost_ratio)


def _needed(effect: Effect, policy: GatePolicy, checks: list[GateCheck]) -> int | None:
    """Return the number of questions at which the interval's lower end would reach the allowed drop."""
    is_open = any(check.name == "accuracy" and check.status == "unknown" for check in checks)
    middle, error = adjusted(effect.n, effect.delta, effect.stderr)
    room = policy.max_drop + middle
    if not is_open or policy.alpha is None or room <= 0:
        return None
    needed = effect.n * (normal_quantile(1 - policy.alpha / 2) * error / room) ** 2
    return math.ceil(needed) if effect.n < needed < 1e9 else None
