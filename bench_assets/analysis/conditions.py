"""The gate's other conditions, one function each."""

from bench_assets.analysis.comparability import some
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.sentences import percent
from bench_assets.analysis.transitions import UNJUDGED
from bench_assets.contracts.comparison import Comparison, Ratio
from bench_assets.contracts.gate import CheckName, CheckStatus, GateCheck
from bench_assets.contracts.gate_policy import GatePolicy


def comparable_check(policy: GatePolicy, comparison: Comparison) -> GateCheck:
    """Return whether the two runs can be held together.

    Questions that were removed or edited fail the gate unless the policy allows it: leaving questions out is the
    easiest way to look better. Anything else that blocks, such as another judge, only leaves the matter open.
    """
    blocking = [one for one in comparison.differences if one.weight == "blocks"]
    population = [one for one in blocking if one.area == "population"]
    others = [one for one in blocking if one.area != "population"]
    said = " ".join(one.message for one in blocking)
    if population and not policy.allow_population_change:
        advice = "Run the baseline on the same questions, or set `allow_population_change` in the policy."
        return _check("comparable", "fail", f"The runs cannot be compared as they are. {said} {advice}")
    if others:
        return _check("comparable", "unknown", f"The runs cannot be compared as they are. {said}")
    if population:
        return _check("comparable", "pass", f"The policy allows that the questions changed. {said}")
    notes = [one.name for one in comparison.differences if one.weight == "note"]
    if notes:
        return _check("comparable", "pass", f"The runs are comparable; they also differ in {some(notes, most=8)}.")
    return _check("comparable", "pass", "The runs are comparable.")


def coverage_check(policy: GatePolicy, candidate: ObservedRun) -> GateCheck:
    """Return whether enough of the run has a verdict."""
    coverage, least = candidate.summary.coverage, percent(policy.min_coverage)
    if coverage is None:
        return _check("coverage", "unknown", "Nothing was planned in this run, so nothing can be decided.")
    reason = f"{percent(coverage)} of the executions have a verdict; at least {least} are needed."
    if coverage >= policy.min_coverage:
        return _check("coverage", "pass", reason)
    errors = candidate.summary.outcomes.get("agent_error", 0)
    if coverage + errors / candidate.summary.total >= policy.min_coverage:
        return _check("coverage", "fail", f"{reason} The agent itself failed in {errors} of them.")
    return _check("coverage", "unknown", f"{reason} Go on with the run, or judge it again.")


def agent_errors_check(candidate: ObservedRun, *, limit: float) -> GateCheck:
    """Return whether the agent failed too often."""
    errors, total = candidate.summary.outcomes.get("agent_error", 0), candidate.summary.total
    status: CheckStatus = "fail" if errors > limit * total else "pass"
    return _check("agent_errors", status, f"The agent failed in {errors} of {total} executions; {percent(limit)} may.")


def judge_check(candidate: ObservedRun, *, kappa: float | None, least: float) -> GateCheck:
    """Return whether the judge agrees with people well enough. A matcher needs no such agreement."""
    identity = candidate.run.judge_identity
    if identity is not None and identity.model is None:
        return _check("judge", "pass", f"Answers are scored by `{identity.method}`, without a judge.")
    if kappa is None:
        return _check("judge", "unknown", f"A kappa of {least:.2f} is asked of the judge, but it was never measured.")
    status: CheckStatus = "pass" if kappa >= least else "unknown"
    return _check("judge", status, f"The judge's agreement with people is kappa {kappa:.2f}; {least:.2f} is needed.")


def must_pass_check(candidate: ObservedRun, *, ids: list[str]) -> GateCheck:
    """Return whether the named questions are correct in every repetition."""
    failed: list[str] = []
    unsettled: list[str] = []
    for id_ in ids:
        outcomes = set(candidate.columns.outcomes_of(id_))
        if outcomes == {"correct"}:
            continue
        known_wrong = outcomes - {"correct"} - UNJUDGED
        (failed if known_wrong or not outcomes else unsettled).append(id_)
    if failed:
        absent = [id_ for id_ in failed if not candidate.columns.outcomes_of(id_)]
        more = f" Not in this run: {some(absent)}." if absent else ""
        counted = f"{len(failed)} of the {len(ids)} questions that must pass"
        return _check("must_pass", "fail", f"Not passed: {counted} ({some(failed)}).{more}")
    if unsettled:
        return _check("must_pass", "unknown", f"Questions that must pass have no verdict yet: {some(unsettled)}.")
    return _check("must_pass", "pass", f"All {len(ids)} questions that must pass do.")


def latency_check(comparison: Comparison, *, limit: float) -> GateCheck:
    """Return whether the candidate is not too slow."""
    return _ratio_check("latency", comparison.latency, limit, nothing="No execution was answered in both runs")


def cost_check(comparison: Comparison, *, limit: float) -> GateCheck:
    """Return whether the candidate is not too dear."""
    return _ratio_check("cost", comparison.cost, limit, nothing="The adapters report neither money nor tokens")


def _ratio_check(name: CheckName, found: Ratio | None, limit: float, *, nothing: str) -> GateCheck:
    if found is None or found.ratio is None:
        why = nothing if found is None else f"The baseline's {found.what} is 0"
        return _check(name, "unknown", f"{why}, so a limit of {limit:g} times the baseline's cannot be held.")
    status: CheckStatus = "fail" if found.ratio > limit else "pass"
    return _check(
        name,
        status,
        f"The {found.what} is {found.candidate:,.4g}, {found.ratio:.2f} times the baseline's {found.baseline:,.4g} "
        f"(n = {found.n} executions); {limit:g} times is allowed.",
    )


def _check(name: CheckName, status: CheckStatus, reason: str) -> GateCheck:
    return GateCheck(name=name, status=status, reason=reason)
