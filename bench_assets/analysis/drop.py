"""The gate's main condition: is the candidate not worse than allowed?"""

from bench_assets.analysis.detectable import detectable_drop
from bench_assets.analysis.paired import adjusted, adjusted_interval
from bench_assets.analysis.sentences import p_text, points, spread
from bench_assets.contracts.comparison import Comparison, Effect
from bench_assets.contracts.gate import CheckStatus, GateCheck
from bench_assets.contracts.gate_policy import GatePolicy
from bench_assets.contracts.run import Interval

ROUNDING = 1e-9
"""0.6 - 0.8 is a little less than -0.2: not a larger drop than 0.2."""


def gate_interval(effect: Effect, policy: GatePolicy) -> Interval:
    """Return the interval of the difference at the policy's own level: 1 - `alpha`, or 95 % where that is None."""
    return adjusted_interval(effect.n, effect.delta, effect.stderr, alpha=policy.alpha or 0.05)


def detectable_by_gate(effect: Effect, policy: GatePolicy) -> float | None:
    """Return the smallest true drop that the policy would call NO-GO in 80 of 100 such comparisons.

    None where there is none, and where the policy has no `alpha`.
    """
    if policy.alpha is None:
        return None
    return detectable_drop(
        n=effect.n,
        repetitions=effect.repetitions,
        discordant=effect.gained + effect.lost,
        stderr=adjusted(effect.n, effect.delta, effect.stderr)[1],
        alpha=policy.alpha,
        margin=policy.max_drop,
    )


def accuracy_check(policy: GatePolicy, comparison: Comparison, *, p_value: float | None) -> GateCheck:
    """Return whether accuracy fell by more than `max_drop`.

    `fail` when the observed drop is larger and p ≤ `alpha`, `pass` when the interval's lower end rules a larger drop
    out, `unknown` in between, and where the answer depends on what the judge could not settle. Without an `alpha` the
    observed drop decides. `p_value` replaces the effect's own where several candidates were compared.
    """
    effect = comparison.effect
    if effect is None:
        return _check("unknown", "There is no common question to compare accuracy on.")
    blocking = next((one for one in comparison.differences if one.weight == "blocks" and one.area == "scoring"), None)
    if blocking is not None:
        return _check("unknown", f"The difference of {points(effect.delta)} is not one of the agent: other scoring.")
    status, reason = drop_status(effect, policy, p_value=p_value)
    for extreme in (comparison.unjudged_against, comparison.unjudged_for):
        if extreme is not None and drop_status(extreme, policy)[0] != status:
            return _check(
                "unknown",
                f"{reason} But it depends on executions that have no verdict: they could make the difference "
                f"{points(extreme.delta)}. Judge them first.",
            )
    return _check(status, reason)


def drop_status(effect: Effect, policy: GatePolicy, *, p_value: float | None = None) -> tuple[CheckStatus, str]:
    """Return what the policy says of one effect, and why; `p_value` as for `accuracy_check`."""
    allowed = f"{100 * policy.max_drop:.1f} points"
    larger = -effect.delta > policy.max_drop + ROUNDING
    if policy.alpha is None:
        much = "more than" if larger else "within"
        status: CheckStatus = "fail" if larger else "pass"
        return status, f"Accuracy changed by {points(effect.delta)}: {much} the allowed drop of {allowed}."
    p_value = effect.p_value if p_value is None else p_value
    test = f"{effect.test} test: {p_text(p_value, effect.n)}"
    interval = gate_interval(effect, policy)
    between = f"{1 - policy.alpha:.0%} interval {spread(interval, signed=True)}"
    if larger and p_value <= policy.alpha:
        return "fail", (
            f"Accuracy changed by {points(effect.delta)} ({between}; {test}): more than the allowed drop of {allowed}, "
            "and beyond chance."
        )
    if larger:
        return "unknown", (
            f"Accuracy changed by {points(effect.delta)}: more than the allowed drop of {allowed}, but chance may "
            f"explain it ({between}; {test})."
        )
    if interval.low >= -policy.max_drop - ROUNDING:
        return "pass", (
            f"Accuracy changed by {points(effect.delta)} ({between}; {test}): a drop of more than {allowed} is ruled "
            "out."
        )
    return "unknown", (
        f"Accuracy changed by {points(effect.delta)}, but {effect.n} questions do not rule out a drop of more than "
        f"{allowed} ({between}; {test})."
    )


def _check(status: CheckStatus, reason: str) -> GateCheck:
    return GateCheck(name="accuracy", status=status, reason=reason)
