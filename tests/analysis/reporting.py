"""Makers of reports from made-up runs."""

import random

from bench_assets.analysis.baselines import Baseline
from bench_assets.analysis.comparison import compare
from bench_assets.analysis.gate import decide
from bench_assets.analysis.report.page import render_report
from bench_assets.analysis.standings import Entry, history
from bench_assets.contracts.gate_policy import GatePolicy
from tests.analysis.observing import observed

NASTY = '<script>alert(1)</script><img src="http://example.org/x.png" onerror="alert(2)"></script><!-- \u2028 ]]>'
WORDS = ("river", "harbour", "ice", "stone", "tide", "bridge", "lamp", "north", "grain", "wheel")


def report(questions: int, *, repetitions: int = 1, nasty: bool = True, **policy: object) -> str:
    """A report of two runs of so many questions; everywhere a text can stand, `q0` has one that tries to break out."""
    dice = random.Random(questions)
    ids = [f"q{number}" for number in range(questions)]
    meta = {id_: {"topic": dice.choice(["sea", "sky", NASTY if nasty else "land"])} for id_ in ids}
    texts = {id_: f"Why {_words(dice, 12)}?" for id_ in ids}
    if nasty:
        texts["q0"] = NASTY
    runs = []
    for candidate, chance in (("kg@v1", 0.8), ("kg@v2", 0.7)):
        outcomes = {
            id_: [
                "correct" if dice.random() < chance else dice.choice(["incorrect", "not_attempted", "agent_error"])
                for _ in range(repetitions)
            ]
            for id_ in ids
        }
        outcomes["q0"] = ["correct" if candidate == "kg@v1" else "incorrect"] * repetitions
        answers = {id_: _words(dice, dice.randint(2, 80)) for id_ in ids}
        if nasty:
            answers["q0"] = NASTY
        description = NASTY if nasty else "A change"
        runs.append(
            observed(
                outcomes,
                candidate,
                meta=meta,
                texts=texts,
                goldens={"q0": NASTY} if nasty else None,
                answers=answers,
                durations={id_: dice.randint(100, 4000) for id_ in ids},
                usage={id_: {"total_tokens": dice.randint(10, 900)} for id_ in ids},
                run={"description": description, "kwargs": {"style": description}},
            )
        )
    before, after = runs
    comparison = compare(before, after)
    decision = decide(
        GatePolicy(**{"must_pass": ["q0"], **policy}),  # type: ignore[arg-type]
        candidate=after,
        baseline=Baseline("kg@v1", before.run.run_id, "The baseline `kg@v1` is the newest accepted one."),
        comparison=comparison,
        decided_at="2026-01-01T00:00:00.000000+00:00",
    )
    entries = [Entry(before.run, before.summary, "GO"), Entry(after.run, after.summary, decision.verdict, comparison)]
    return render_report(after, baseline=before, comparison=comparison, decision=decision, history=history(entries))


def _words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(count))
