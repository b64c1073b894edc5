import pytest

from bench_assets.analysis.baselines import Baseline
from bench_assets.analysis.comparison import compare
from bench_assets.analysis.gate import decide
from bench_assets.analysis.markdown import (
    figures_table,
    groups_table,
    leaderboard_table,
    plain,
    pull_request,
    questions_table,
    transitions_table,
)
from bench_assets.analysis.standings import Entry, leaderboard
from bench_assets.contracts.gate_policy import GatePolicy
from tests.analysis.observing import numbered, observed

NASTY = "<script>alert(1)</script> | a\n\n# Title *bold* [link](http://x) `code` @octocat fixes #12"


def summary(before, after, **policy):
    comparison = compare(before, after)
    baseline = Baseline(before.run.candidate, before.run.run_id, "The baseline is the newest accepted one.")
    decision = decide(
        GatePolicy(**policy), candidate=after, baseline=baseline, comparison=comparison, decided_at="2026-01-01"
    )
    return pull_request(decision, comparison)


def test_untrusted_text_is_one_line_of_plain_text():
    found = plain(NASTY)
    assert "\n" not in found
    assert not set(found) & set("<>|*[]`")
    assert "@octocat" not in found
    assert "&#35;12" not in found
    assert plain("kg@v1.2-rc1") == "kg@v1.2-rc1"
    assert plain("x" * 500, most=10) == "x" * 9 + "…"


def test_a_pull_request_s_summary_says_the_verdict_every_reason_and_what_broke():
    before = observed(numbered([("correct", 100)]))
    after = observed(numbered([("correct", 80), ("incorrect", 20)]), "kg@v2", answers={"q99": NASTY})
    found = summary(before, after, must_pass=["q99"])
    assert found.startswith("## ❌ NO-GO: kg@v2 on facts@1.0\n")
    assert "| ❌ broken | accuracy | Accuracy changed by -20.0 points" in found
    assert "| ❌ broken | must pass |" in found
    assert "| ✅ kept | coverage |" in found
    assert "| accuracy of all | 100.0 % | 80.0 % |" in found
    assert "| broken | 20 |" in found
    assert "<script>" not in found
    assert "n = 100 questions" in found


def test_every_row_of_a_table_has_the_same_number_of_cells():
    before = observed(numbered([("correct", 3)]), answers={"q0": NASTY}, meta={"q0": {"a|b": "c|d"}})
    after = observed(numbered([("incorrect", 3)]), "kg@v2", answers={"q0": NASTY})
    comparison = compare(before, after, fields=["a|b"])
    tables = (
        figures_table(comparison).partition("\n\n")[0],
        transitions_table(comparison),
        groups_table(comparison),
        questions_table(comparison.transitions),
    )
    for text in tables:
        assert len({line.count("|") for line in text.splitlines()}) == 1, text


def test_a_first_candidate_has_a_summary_without_a_comparison():
    run = observed(numbered([("correct", 3)]))
    decision = decide(
        GatePolicy(), candidate=run, baseline=Baseline(None, None, "None yet."), comparison=None, decided_at="x"
    )
    found = pull_request(decision, None)
    assert found.startswith("## ✅ GO: kg@v1 on facts@1.0")
    assert "Figures" not in found


def test_repetitions_show_how_often_all_and_any_are_right():
    before = observed({"q1": ["correct", "incorrect"], "q2": ["correct", "correct"]})
    after = observed({"q1": ["incorrect", "incorrect"], "q2": ["correct", "correct"]}, "kg@v2")
    found = figures_table(compare(before, after))
    assert "| right in at least one of 2 | 100.0 % | 50.0 % |" in found
    assert "| right in all of 2 | 50.0 % | 50.0 % |" in found


def test_only_the_first_changed_questions_are_listed_the_broken_first():
    before = observed(numbered([("incorrect", 5), ("correct", 30)]))
    after = observed(numbered([("correct", 5), ("incorrect", 30)]), "kg@v2")
    found = questions_table(compare(before, after).transitions, most=4)
    assert found.count("| broken |") == 4
    assert found.endswith("… and 31 more; the report has them all.")
    assert questions_table([]) == ""


@pytest.mark.parametrize("known", [[], ["kg@v9"]])
def test_the_leaderboard_quotes_p_values_with_their_n(known):
    base, other = observed(numbered([("correct", 9)])), observed(numbered([("incorrect", 9)]), "kg@v2")
    entries = [
        Entry(base.run, base.summary, verdict="GO"),
        Entry(other.run, other.summary, comparison=compare(base, other)),
    ]
    found = leaderboard_table(leaderboard("facts@1.0", entries=entries, known=known))
    assert "| 1 | kg@v1 | ✅ GO | 100.0 % |" in found
    assert "| 2 | kg@v2 | - | 0.0 % |" in found
    assert "| p = 0.004, n = 9 questions |" in found
    assert ("Without a finished run: kg@v9." in found) == bool(known)
