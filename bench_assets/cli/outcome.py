"""The end of a run on the terminal: a table, where the files lie, an exit code."""

from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench_assets.analysis.sentences import points, spread
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.judging import JudgingFigures
from bench_assets.contracts.plan import Plan
from bench_assets.contracts.run import Summary


@dataclass
class Result:
    """What a run came to."""

    plan: Plan
    folder: str
    """Where its files lie."""
    summary: Summary | None = None
    """None when judging was left for later."""
    decision: GateDecision | None = None
    """What the gate said; None when it was not asked."""
    failed: list[str] = field(default_factory=list)
    """What could not be made of the result, a sentence each."""
    places: list[str] = field(default_factory=list)
    """Further places that hold a copy of the files."""


WIDE = 160
"""Columns where nobody's terminal says how many there are, as in a CI job's log."""


def open_console() -> Console:
    """Return what prints to standard output without reading anything into the text."""
    console = Console(soft_wrap=True, highlight=False, markup=False)
    return console if console.is_terminal else Console(soft_wrap=True, highlight=False, markup=False, width=WIDE)


def show(result: Result) -> int:
    """Print the result. Returns 0, or 1 when the run has no usable result."""
    console = Console(soft_wrap=True, highlight=False)
    plan = result.plan
    if result.summary is None:
        console.print(f"{plan.candidate} on {plan.benchmark}: {plan.selection.executions} executions, not judged yet.")
    else:
        console.print(_table(plan, result.summary))
    for place in (result.folder, *result.places):
        console.print(f"files: {place}", markup=False)
    if result.decision is not None:
        show_decision(console, result.decision)
    for sentence in result.failed:
        console.print(sentence, markup=False)
    if result.summary is None:
        return 0
    return _verdict(console, result.summary)


def show_decision(console: Console, decision: GateDecision, *, all_checks: bool = False) -> None:
    """Print the gate's verdict and what stands in the way of GO, or each condition."""
    against = f", held against {decision.baseline}" if decision.baseline else ""
    effect = ""
    if decision.delta is not None and decision.n is not None:
        effect = f": {points(decision.delta)} (95 % {spread(decision.interval, signed=True)}, n = {decision.n})"
    console.print(f"gate: {decision.verdict}{against}{effect}", markup=False)
    for check in decision.checks:
        if all_checks or check.status != "pass":
            told = {"fail": "broken", "unknown": "open", "pass": "kept"}[check.status]
            console.print(f"  {told:<7} {check.name.replace('_', ' ')}: {check.reason}", markup=False)
    if decision.questions_needed is not None:
        console.print(f"  About {decision.questions_needed} questions would settle it.", markup=False)


def _table(plan: Plan, summary: Summary) -> Table:
    table = Table(title=f"{plan.candidate} on {plan.benchmark}", title_justify="left", show_header=False)
    interval = summary.interval
    spread = f"  (95 % between {interval.low:.1%} and {interval.high:.1%})" if interval else ""
    table.add_row("run", plan.run_id)
    table.add_row("accuracy", f"{_percent(summary.accuracy)}{spread}")
    table.add_row("precision, of those attempted", _percent(summary.precision))
    table.add_row("f1", "-" if summary.f1 is None else f"{summary.f1:.3f}")
    for outcome, count in summary.outcomes.items():
        if count or outcome in ("correct", "incorrect"):
            table.add_row(outcome, f"{count} of {summary.total}")
    if summary.latency_ms:
        table.add_row("latency p50 / p90", f"{summary.latency_ms.p50:.0f} ms / {summary.latency_ms.p90:.0f} ms")
    if summary.judging and not plan.judge.is_matcher:
        table.add_row("judge", _spent(summary.judging))
        table.add_row("judge against people", _trust(summary.judging))
    if summary.partial:
        table.add_row("covers", f"{plan.selection.questions} of the benchmark's {plan.total_rows} questions")
    return table


def _spent(judging: JudgingFigures) -> str:
    spent = f"{judging.calls} requests, {judging.cached} verdicts from before"
    if judging.cost:
        spent += f", cost {judging.cost:.4g}"
    if judging.flagged:
        spent += f", {judging.flagged} reasons contradict their label"
    return spent


def _trust(judging: JudgingFigures) -> str:
    found = judging.calibration
    if found is None:
        return "never calibrated"
    kappa = "unknown" if found.kappa is None else f"{found.kappa:.2f}"
    return f"kappa {kappa} over {found.rows} rows"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _verdict(console: Console, summary: Summary) -> int:
    missing = summary.outcomes.get("missing", 0)
    if missing:
        console.print(f"The run is incomplete: {missing} of {summary.total} executions are missing.")
        return 1
    if not summary.coverage:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.error_kinds.items())
        console.print(f"The run has no usable result: not one execution has a verdict ({kinds}).", markup=False)
        return 1
    return 0
