"""Figures as sentences, the same in the terminal, the UI, a pull request and the report."""

from collections.abc import Iterator

from bench_assets.contracts.comparison import Comparison, Effect, RunFigures
from bench_assets.contracts.run import Interval


def percent(share: float | None) -> str:
    """Return a share as `76.0 %`; `-` for None."""
    return "-" if share is None else f"{100 * share:.1f} %"


def points(delta: float | None) -> str:
    """Return a difference of shares in percentage points, with its sign: `+2.5 points`; `-` for None."""
    return "-" if delta is None else f"{_signed(delta)} points"


def _signed(delta: float) -> str:
    text = f"{100 * delta:+.1f}"
    return "0.0" if float(text) == 0 else text


def spread(interval: Interval | None, *, signed: bool = False) -> str:
    """Return an interval as `71.2 % to 80.1 %`, or signed, as `-3.1 to +1.2`; `-` for None."""
    if interval is None:
        return "-"
    if signed:
        return f"{_signed(interval.low)} to {_signed(interval.high)}"
    return f"{percent(interval.low)} to {percent(interval.high)}"


def p_text(p_value: float, n: int) -> str:
    """Return a p-value with its n; there is no other way to quote one."""
    text = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    return f"{text}, n = {n} questions"


def effect_sentence(effect: Effect) -> str:
    """Return what the comparison found, in one sentence."""
    paired = f"{effect.test} test: {p_text(effect.p_value, effect.n)}"
    if effect.p_value > 0.05:
        return f"No significant difference: {points(effect.delta)} ({paired})."
    word = "better" if effect.delta > 0 else "worse"
    return (
        f"Significantly {word}: {points(effect.delta)}, 95 % between {_signed(effect.interval.low)} and "
        f"{_signed(effect.interval.high)} ({paired})."
    )


def errors_sentence(figures: RunFigures) -> str:
    """Return how many executions of a run have no verdict, and of what kinds."""
    kinds = [f"{name} {figures.outcomes.get(name, 0)}" for name in ("agent_error", "judge_error", "missing")]
    kinds = [kind for kind in kinds if not kind.endswith(" 0")]
    return f"{figures.errors} of {figures.executions} executions without a verdict ({', '.join(kinds)})"


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return the sentences that belong beside the figures of a comparison."""
    return list(_notes(comparison))


def _notes(comparison: Comparison) -> Iterator[str]:
    effect, sides = comparison.effect, (comparison.baseline, comparison.candidate)
    if not comparison.population.same:
        yield (
            f"The two accuracies are over different questions ({comparison.baseline.questions} and "
            f"{comparison.candidate.questions}): their difference of {points(comparison.headline_delta)} is no effect "
            f"of the candidate. Everything else here is over the {comparison.population.common} common questions."
        )
    for side in sides:
        if side.errors:
            yield (
                f"`{side.candidate}` has {errors_sentence(side)}. They count as wrong: {percent(side.accuracy)} of all "
                f"are correct, and {percent(side.of_judged)} of those with a verdict."
            )
    bounds = comparison.bounds
    if bounds is not None and effect is not None and bounds.low != bounds.high:
        yield (
            f"Depending on what the executions without a verdict would have been, the difference lies between "
            f"{points(bounds.low)} and {points(bounds.high)}."
        )
    if effect is not None:
        yield _detectable(effect)
    if not any(difference.area == "agent" for difference in comparison.differences):
        yield "Nothing of the agent differs: this shows how far two runs of the same version lie apart."


def _detectable(effect: Effect) -> str:
    if effect.detectable is None:
        return f"With {effect.n} questions no drop could have been shown at 5 %, however large."
    return (
        f"With these {effect.n} questions a drop of {100 * effect.detectable:.1f} points or more would have been found "
        "in 80 of 100 comparisons; smaller ones may go unseen."
    )
