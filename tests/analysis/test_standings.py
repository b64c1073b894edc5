import pytest

from bench_assets.analysis.comparison import compare
from bench_assets.analysis.standings import Entry, corrected_p_values, history, leaderboard
from bench_assets.contracts.leaderboard import Leaderboard
from bench_assets.errors import InvalidInput
from tests.analysis.observing import numbered, observed

BASE = observed(numbered([("correct", 50), ("incorrect", 50)]), "kg@v1")


def entry(candidate, *, correct, **more):
    run = observed(numbered([("incorrect", 100 - correct), ("correct", correct)]), candidate, **more)
    return Entry(run=run.run, summary=run.summary, comparison=compare(BASE, run))


def base():
    return Entry(run=BASE.run, summary=BASE.summary, verdict="GO")


def test_the_leaderboard_ranks_by_accuracy_and_names_who_is_missing():
    found = leaderboard(
        "facts@1.0", entries=[base(), entry("kg@v2", correct=70)], known=["kg@v3", "kg@v1", "kg@v2", "kg@main"]
    )
    assert [(one.candidate, one.accuracy) for one in found.standings] == [("kg@v2", 0.7), ("kg@v1", 0.5)]
    assert found.missing == ["kg@main", "kg@v3"]
    assert (found.baseline, found.standings[0].compared, found.standings[1].delta) == ("kg@v1", 100, None)
    assert Leaderboard.from_json(found.to_json()) == found


def test_many_candidates_against_one_baseline_are_corrected_together():
    entries = [entry(f"kg@v{n}", correct=40) for n in range(2, 6)]
    own = entries[0].comparison.effect.p_value
    found = leaderboard("facts@1.0", entries=[base(), *entries])
    assert [one.p_value for one in found.standings[1:]] == pytest.approx([min(1, 4 * own)] * 4)


def test_comparisons_with_different_baselines_are_not_corrected_together():
    other = observed(numbered([("correct", 2)]), "kg@v0")
    with pytest.raises(InvalidInput, match="with one baseline"):
        corrected_p_values({"a": compare(BASE, other), "b": compare(other, BASE)})


def test_the_history_is_in_the_order_of_versions():
    entries = [entry(name, correct=60) for name in ("kg@v1.10.0", "kg@main", "kg@v1.9.0", "kg@v1.10.0-rc1")]
    assert [one.candidate for one in history(entries)] == ["kg@main", "kg@v1.9.0", "kg@v1.10.0-rc1", "kg@v1.10.0"]


def test_agents_stand_beside_each_other_in_the_history():
    entries = [entry(name, correct=60) for name in ("web@v1", "kg@v2", "web@v0.9")]
    assert [one.candidate for one in history(entries)] == ["kg@v2", "web@v0.9", "web@v1"]


def test_a_run_over_other_questions_than_the_rest_is_marked():
    other = entry("kg@v9", correct=60, run={"dataset_digest": "e" * 64})
    found = leaderboard("facts@1.0", entries=[base(), entry("kg@v2", correct=60), other])
    assert {one.candidate: one.same_questions for one in found.standings} == {
        "kg@v1": True,
        "kg@v2": True,
        "kg@v9": False,
    }


def test_nothing_run_yet_is_an_empty_table():
    found = leaderboard("facts@1.0", entries=[], known=["kg@v1"])
    assert (found.standings, found.missing, found.baseline) == ([], ["kg@v1"], None)
