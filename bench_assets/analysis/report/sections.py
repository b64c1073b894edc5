"""The report's parts that need no script: verdict, figures, groups, history."""

from collections.abc import Iterator, Sequence

from bench_assets.analysis.report.chart import difference_chart, history_chart
from bench_assets.analysis.report.html import Html, sentence, table, tag
from bench_assets.analysis.sentences import effect_sentence, percent, points, spread
from bench_assets.contracts.comparison import Comparison, Ratio, RunFigures
from bench_assets.contracts.gate import CheckStatus, GateDecision, Verdict
from bench_assets.contracts.leaderboard import Standing

SIGNS: dict[Verdict, str] = {"GO": "✓", "NO-GO": "✕", "INCONCLUSIVE": "?"}
COLOURS: dict[Verdict, str] = {"GO": "better", "NO-GO": "worse", "INCONCLUSIVE": "even"}
MARKS: dict[CheckStatus, tuple[str, str]] = {
    "fail": ("✕ broken", "worse"),
    "unknown": ("? open", "even"),
    "pass": ("✓ kept", "better"),
}


def verdict_section(decision: GateDecision) -> Html:
    """Return the gate's verdict with every reason."""
    checks = [
        tag(
            "li",
            tag("span", MARKS[check.status][0], class_=f"mark {MARKS[check.status][1]}"),
            tag("span", tag("b", check.name.replace("_", " ").capitalize()), ": ", sentence(check.reason)),
        )
        for check in decision.checks
    ]
    more = None
    if decision.questions_needed is not None:
        more = tag(
            "p",
            f"About {decision.questions_needed:,} questions, or more repetitions, would settle whether accuracy fell "
            f"by more than {100 * decision.policy.max_drop:.1f} points.",
        )
    against = f"Held against {decision.baseline}." if decision.baseline else "Held against nothing."
    return tag(
        "section",
        tag(
            "h2",
            "Gate: ",
            tag("span", f"{SIGNS[decision.verdict]} {decision.verdict}", class_=f"badge {COLOURS[decision.verdict]}"),
        ),
        tag("p", against, class_="quiet"),
        tag("ul", *checks, class_="checks"),
        more,
        id="gate",
    )


def headline_section(
    figures: RunFigures, comparison: Comparison | None, decision: GateDecision | None, *, notes: Sequence[str]
) -> Html:
    """Return the accuracy with its interval, the difference with its own, and what must be said beside them."""
    tiles = [_tile("Accuracy", percent(figures.accuracy), f"95 %: {spread(figures.wilson)}")]
    effect = comparison.effect if comparison else None
    drawing = None
    if comparison is not None:
        before = comparison.baseline
        tiles.append(_tile(f"Baseline {before.candidate}", percent(before.accuracy), f"95 %: {spread(before.wilson)}"))
    if effect is not None:
        n = f"on {effect.n} common questions"
        tiles.append(_tile("Difference", points(effect.delta), f"95 %: {spread(effect.interval, signed=True)}, {n}"))
        policy = decision.policy if decision and decision.baseline else None
        drawing = tag(
            "figure",
            difference_chart(effect, effect.interval, max_drop=policy.max_drop if policy else None),
            tag("figcaption", effect_sentence(effect)),
        )
    errors = f"of {figures.executions:,} executions"
    tiles.append(_tile("Without a verdict", f"{figures.errors:,}", errors))
    return tag(
        "section",
        tag("h2", "Result"),
        tag("div", *tiles, class_="tiles"),
        drawing,
        tag("ul", *(tag("li", sentence(note)) for note in notes), class_="notes") if notes else None,
        id="result",
    )


def figures_section(sides: Sequence[RunFigures], ratios: Sequence[Ratio | None]) -> Html:
    """Return all figures of one run or two, side by side."""
    rows = [[name, *cells] for name, *cells in _figures(sides)]
    for found in ratios:
        if found is not None:
            times = "" if found.ratio is None else f" ({found.ratio:.2f} ×)"
            name = f"{found.what.replace('duration_ms', 'duration, ms')}, of {found.n:,} executions in both"
            rows.append([name, f"{found.baseline:,.4g}", f"{found.candidate:,.4g}{times}"])
    head = ["", *(side.candidate for side in sides)]
    return tag("section", tag("h2", "Figures"), table(head, rows, caption="Figures", figures=True), id="figures")


def _figures(sides: Sequence[RunFigures]) -> Iterator[list[str]]:
    yield ["correct of all", *(f"{side.correct:,} of {side.executions:,}" for side in sides)]
    yield ["accuracy of all", *(percent(side.accuracy) for side in sides)]
    yield ["accuracy of those with a verdict", *(percent(side.of_judged) for side in sides)]
    yield ["accuracy if all without a verdict were right", *(percent(side.accuracy_high) for side in sides)]
    yield ["standard error, by question", *("-" if s.stderr is None else f"{100 * s.stderr:.2f}" for s in sides)]
    yield ["questions × repetitions", *(f"{side.questions:,} × {side.repetitions}" for side in sides)]
    for k in range(2, max(side.repetitions for side in sides) + 1):
        yield [f"right in at least one of {k}", *(percent(side.pass_at.get(k)) for side in sides)]
        yield [f"right in all of {k}", *(percent(side.pass_all.get(k)) for side in sides)]
    for outcome in sides[-1].outcomes:
        if any(side.outcomes.get(outcome) for side in sides):
            yield [outcome.replace("_", " "), *(f"{side.outcomes.get(outcome, 0):,}" for side in sides)]
    for name in ("p50", "p90", "p99"):
        cells = [f"{getattr(side.latency_ms, name):,.0f}" if side.latency_ms else "-" for side in sides]
        yield [f"latency {name}, ms", *cells]


def groups_section(comparison: Comparison) -> Html | None:
    """Return the comparison by meta fields; None without groups."""
    if not comparison.groups:
        return None
    rows = [
        [
            f"{one.field}: {one.value}",
            f"{one.n:,}",
            percent(one.baseline_accuracy),
            percent(one.candidate_accuracy),
            points(one.delta),
            spread(one.interval, signed=True),
            str(one.counts["fixed"]),
            str(one.counts["broken"]),
        ]
        for one in comparison.groups
    ]
    head = ["group", "questions", "baseline", "candidate", "difference", "95 % interval", "fixed", "broken"]
    text = "Intervals are each group's own: among many groups some look different by chance."
    return tag(
        "section",
        tag("h2", "By group"),
        tag("p", text, class_="quiet"),
        table(head, rows, caption="The comparison by group", figures=True),
        id="groups",
    )


def history_section(standings: Sequence[Standing], *, current: str) -> Html | None:
    """Return accuracy over candidates; None for fewer than two."""
    if len(standings) < 2:
        return None
    rows = [
        [
            one.candidate,
            percent(one.accuracy),
            spread(one.interval),
            f"{one.questions:,} × {one.repetitions}" + ("" if one.same_questions else " (other questions)"),
            f"{one.errors:,}",
            one.verdict or "-",
            (one.start_time or "-")[:16].replace("T", " "),
        ]
        for one in reversed(standings)
    ]
    head = ["candidate", "accuracy", "95 % interval", "questions", "errors", "gate", "started, UTC"]
    drawing = tag(
        "figure",
        history_chart(standings, current=current),
        tag(
            "figcaption",
            "Bars are 95 % intervals, colours the gate's verdicts. Hollow: over other questions than most.",
        ),
    )
    listed = tag("details", tag("summary", "All candidates, newest first"), table(head, rows, caption="History"))
    return tag("section", tag("h2", "History"), drawing, listed, id="history")


def _tile(name: str, value: str, below: str) -> Html:
    return tag(
        "div",
        tag("div", name, class_="quiet"),
        tag("div", value, class_="value"),
        tag("div", below, class_="quiet"),
        class_="tile",
    )
