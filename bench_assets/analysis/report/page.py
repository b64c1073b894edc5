"""The whole page."""

import base64
import hashlib
import secrets
from collections.abc import Iterator, Sequence
from importlib.resources import files

from bench_assets.analysis.rates import run_figures
from bench_assets.analysis.report.html import Html, join, sentence, tag
from bench_assets.analysis.report.provenance import comparability_section, provenance_section
from bench_assets.analysis.report.rows import comparison_data, run_data
from bench_assets.analysis.report.sections import (
    COLOURS,
    SIGNS,
    figures_section,
    groups_section,
    headline_section,
    history_section,
    verdict_section,
)
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.transitions import MOST_LISTED
from bench_assets.contracts.comparison import Comparison
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.leaderboard import Standing


def render_report(
    candidate: ObservedRun,
    *,
    baseline: ObservedRun | None = None,
    comparison: Comparison | None = None,
    decision: GateDecision | None = None,
    history: Sequence[Standing] = (),
) -> str:
    """Return `report.html` as one text; see `report_pieces`."""
    return "".join(
        report_pieces(candidate, baseline=baseline, comparison=comparison, decision=decision, history=history)
    )


def report_pieces(
    candidate: ObservedRun,
    *,
    baseline: ObservedRun | None = None,
    comparison: Comparison | None = None,
    decision: GateDecision | None = None,
    history: Sequence[Standing] = (),
) -> Iterator[str]:
    """Yield `report.html` of a finished run, alone or against its baseline, a question at a time.

    One file without any address: its style and script are in it, and a content security policy lets nothing else run
    or load, whatever stands in an answer.

    Args:
        candidate: the run that the report is about.
        baseline: the run that `comparison` was made with; None, as for `comparison`, for a run alone.
        comparison: what `compare` returned for the two.
        decision: what the gate said; None leaves it out.
        history: the standings of all candidates, oldest first, as `standings.history` gives them.
    """
    figures = comparison.candidate if comparison else run_figures(candidate)
    sides = [comparison.baseline, comparison.candidate] if comparison else [figures]
    runs = [run.run for run in (baseline, candidate) if run is not None]
    title = f"{candidate.run.candidate} on {candidate.run.benchmark}"
    style, script = Html(own_file("report.css")), Html(own_file("report.js"))
    data = Html(secrets.token_hex(16))  # stands for the questions, which are too many to be held
    policy = (
        f"default-src 'none'; script-src '{digest_of(script)}'; style-src '{digest_of(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{decision.verdict}: {title}" if decision else title),
        tag("style", style),
    )
    body = tag(
        "body",
        _header(candidate, comparison, decision, history),
        tag(
            "main",
            headline_section(figures, comparison, decision, notes=comparison.notes if comparison else ()),
            verdict_section(decision) if decision else None,
            _questions(candidate, comparison),
            figures_section(sides, [comparison.latency, comparison.cost] if comparison else []),
            groups_section(comparison) if comparison else None,
            history_section(history, current=candidate.run.run_id),
            comparability_section(comparison) if comparison else None,
            provenance_section(runs),
        ),
        tag("dialog", id="detail", aria_label="One question"),
        tag("script", data, type="application/json", id="data"),
        tag("script", script),
    )
    before, _, after = tag("html", head, body, lang="en").partition(data)
    yield f"<!doctype html>\n{before}"
    yield from comparison_data(comparison) if comparison else run_data(candidate)
    yield f"{after}\n"


def _header(
    candidate: ObservedRun,
    comparison: Comparison | None,
    decision: GateDecision | None,
    history: Sequence[Standing],
) -> Html:
    run = candidate.run
    badge = None
    if decision is not None:
        text = f"{SIGNS[decision.verdict]} {decision.verdict}"
        badge = tag("a", text, href="#gate", class_=f"badge {COLOURS[decision.verdict]}")
    places = ["result", "gate", "questions", "figures", "history", "conditions", "provenance"]
    if decision is None:
        places.remove("gate")
    if len(history) < 2:
        places.remove("history")
    if comparison is None:
        places.remove("conditions")
    about = [f"Run {run.run_id}", f"started {run.start_time[:16].replace('T', ' ')} UTC"]
    if run.commit:
        about.append(f"commit {run.commit[:12]}{' with local changes' if run.dirty else ''}")
    return tag(
        "header",
        tag("h1", run.candidate, tag("span", f" on {run.benchmark}", class_="quiet"), " ", badge),
        tag("p", ", ".join(about), class_="quiet"),
        tag("p", run.description) if run.description else None,
        tag("nav", *(tag("a", place.capitalize(), href=f"#{place}") for place in places), aria_label="Parts"),
    )


def _questions(candidate: ObservedRun, comparison: Comparison | None) -> Html:
    total = sum(comparison.counts.values()) if comparison else len(candidate.columns)
    left_out = comparison.left_out if comparison else max(0, total - MOST_LISTED)
    first = "what changed" if comparison else "what is not right"
    note = f"{total - left_out:,} of {total:,} questions are listed, {first} first; `answers.jsonl` has all of them."
    keys = [
        tag("kbd", "/"), " search  ", tag("kbd", "↑"), tag("kbd", "↓"), " move  ", tag("kbd", "Enter"), " open  ",
        tag("kbd", "←"), tag("kbd", "→"), " in it: one back, one on  ", tag("kbd", "Esc"), " close",
    ]  # fmt: skip
    return tag(
        "section",
        tag("h2", "Questions"),
        tag("p", sentence(note), class_="quiet") if left_out else None,
        tag("noscript", f"The {total - left_out:,} questions are listed by a script, which is switched off here."),
        tag("div", id="filters", role="search"),
        tag("p", id="count", role="status"),
        tag("div", id="list"),
        tag("p", join(keys), class_="quiet keys"),
        id="questions",
    )


def own_file(name: str) -> str:
    """Return the text of a file of the report's own."""
    return files("bench_assets.analysis.report").joinpath(name).read_text(encoding="utf-8")


def digest_of(text: str) -> str:
    """Return what a content security policy calls an element's text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
