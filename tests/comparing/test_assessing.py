"""What is held against what, and what is kept of it."""

import json

import pytest

from bench_assets.analysis import comparison as comparing
from bench_assets.errors import InvalidBenchmark, InvalidInput
from bench_assets.stages.benchmark import check_benchmark
from bench_assets.stages.comparison import assess
from bench_assets.stages.finished import assessment_of, find_run
from bench_assets.stages.standings import board, history_of, planned_candidates
from tests.comparing.storing import Runs
from tests.endtoend.project import strict


def test_the_first_version_is_accepted_and_the_next_is_held_against_it(runs):
    first = runs.decided("kg@v1", right=30)
    assert (first.decision.verdict, first.decision.baseline, first.comparison) == ("GO", None, None)
    second = runs.decided("kg@v2", right=10)
    assert (second.decision.verdict, second.decision.baseline) == ("NO-GO", "kg@v1")
    assert second.comparison.counts["broken"] == 20
    third = runs.decided("kg@v3", right=38)
    assert (third.decision.verdict, third.decision.baseline) == ("GO", "kg@v1")
    assert runs.decided("kg@v4", right=38).decision.baseline == "kg@v3"


def test_the_files_of_a_run_tell_the_decision_with_its_reasons(runs):
    runs.decided("kg@v1", right=30)
    run_id = runs.add("kg@v2", right=10, answers={"q15": "<script>alert(1)</script>"})
    made = runs.assess("kg@v2")
    gate = strict(runs.file(run_id, "gate.json").read_text())
    comparison = strict(runs.file(run_id, "comparison.json").read_text())
    report = runs.file(run_id, "report.html").read_text()
    assert gate == made.decision.to_json()
    assert (gate["verdict"], gate["n"], gate["delta"]) == ("NO-GO", 40, -0.5)
    assert any("more than the allowed drop" in check["reason"] for check in gate["checks"])
    assert len(comparison["transitions"]) == 40
    assert comparison["transitions"][0]["meta"] == {"topic": "a"}
    assert {group["field"] for group in comparison["groups"]} == {"topic"}
    assert "NO-GO" in report
    assert "<script>alert(1)" not in report
    kept = assessment_of(runs.workspace, benchmark=runs.name, candidate="kg@v2")
    assert kept.comparison.transitions == []
    assert kept.comparison.effect == made.comparison.effect


def test_a_comparison_that_no_longer_holds_is_taken_away(project):
    runs = Runs(project, gate="{baseline: previous}")
    runs.decided("kg@v1", right=30)
    run_id = runs.add("kg@v2", right=30)
    runs.assess("kg@v2")
    assert runs.file(run_id, "comparison.json").exists()
    Runs(project, gate="{baseline: kg@v2}").assess("kg@v2")
    assert not runs.file(run_id, "comparison.json").exists()
    assert strict(runs.file(run_id, "gate.json").read_text())["baseline"] is None


def test_a_smoke_test_neither_accepts_nor_replaces_a_version(runs):
    whole = runs.add("kg@v1", right=30)
    runs.assess("kg@v1")
    runs.decided("kg@v1", right=2, limit=2)
    held = runs.decided("kg@v2", right=30)
    assert held.decision.baseline_run_id == whole
    assert [one.run_id for one in history_of(runs.workspace, runs.name) if one.candidate == "kg@v1"] == [whole]
    smoke = runs.decided("kg@v3", right=2, limit=2)
    assert (smoke.decision.verdict, smoke.lasting) == ("NO-GO", None)
    assert any("38 questions asked of the baseline" in reason for reason in smoke.decision.reasons)


def test_a_benchmark_that_asks_a_sample_by_itself_accepts_runs_of_it(project):
    runs = Runs(project, extra="limit: 20\n")
    assert runs.decided("kg@v1", right=15, limit=20).lasting.verdict == "GO"


def test_the_more_candidates_meet_one_baseline_the_harder_is_chance_to_take_for_a_loss(runs):
    runs.decided("kg@v1", right=30)
    alone = runs.decided("kg@v2~a", right=20)
    assert alone.decision.p_value == alone.comparison.effect.p_value
    runs.decided("kg@v2~b", right=20)
    third = runs.decided("kg@v2~c", right=20)
    assert third.decision.p_value == pytest.approx(3 * third.comparison.effect.p_value)


def test_a_run_is_found_by_its_id_or_as_its_candidates_newest(runs):
    old, new = runs.add("kg@v1", right=1), runs.add("kg@v1", right=2)
    assert find_run(runs.workspace, "kg@v1") == new
    assert find_run(runs.workspace, old) == old
    with pytest.raises(InvalidInput, match=r"`kg@v9` has no finished run.*`kg@v1`"):
        find_run(runs.workspace, "kg@v9")
    with pytest.raises(InvalidInput, match=r"is one of `quiz@1\.0`, not of `other@1`"):
        find_run(runs.workspace, old, benchmark="other@1")


def test_a_candidate_with_runs_on_two_benchmarks_needs_to_be_told_which(runs):
    runs.add("kg@v1", right=1)
    runs.project.benchmark([{"id": "q1", "question": "?", "golden": "x"}], name="other")
    newest = runs.workspace.store.read("quiz/1.0/summary/kg@v1.json")
    runs.workspace.store.write("other/1.0/summary/kg@v1.json", newest)
    with pytest.raises(InvalidInput, match=r"`other@1\.0`, `quiz@1\.0`.*--benchmark"):
        find_run(runs.workspace, "kg@v1")
    assert find_run(runs.workspace, "kg@v1", benchmark="quiz@1.0")


def test_a_run_that_stopped_is_not_decided_on(runs):
    run_id = runs.add("kg@v1", right=1, status="interrupted")
    with pytest.raises(InvalidInput, match=r"its status is `interrupted`.*--resume"):
        assess(runs.workspace, run_id, spec=runs.benchmark.spec)


def test_the_leaderboard_holds_everyone_against_the_accepted_version(runs):
    runs.decided("kg@v1", right=30)
    runs.decided("kg@v2", right=10)
    runs.add("kg@branch", right=35)
    found = board(
        runs.workspace, runs.name, policy=runs.benchmark.spec.gate, known=["kg@v1", "kg@v2", "kg@branch", "kg@v7"]
    )
    rows = [(one.candidate, one.verdict, one.delta) for one in found.standings]
    assert rows == [("kg@branch", None, 0.125), ("kg@v1", "GO", None), ("kg@v2", "NO-GO", -0.5)]
    assert (found.baseline, found.missing) == ("kg@v1", ["kg@v7"])
    assert found.standings[2].p_value >= runs.assess("kg@v2").comparison.effect.p_value


def test_a_policy_that_names_its_baseline_is_followed_by_the_leaderboard_too(project):
    runs = Runs(project, gate="{baseline: kg@v2}")
    for candidate, right in (("kg@v1", 30), ("kg@v2", 20)):
        runs.decided(candidate, right=right)
    found = board(runs.workspace, runs.name, policy=runs.benchmark.spec.gate, known=[])
    assert [(one.candidate, one.delta) for one in found.standings] == [("kg@v1", 0.25), ("kg@v2", None)]


def test_planned_candidates_are_read_from_the_store(runs):
    runs.workspace.store.write("quiz/1.0/plan/kg@v1.json", b'{"candidate": "kg@v1"}')
    assert planned_candidates(runs.workspace, runs.name) == ["kg@v1"]


def test_a_gate_that_asks_for_a_question_that_is_not_there_is_refused(project):
    runs = Runs(project, gate="{must_pass: [q1, q99, q100]}")
    with pytest.raises(InvalidBenchmark, match=r"benchmark\.yaml: `gate\.must_pass` names.*`q100`, `q99`"):
        check_benchmark(runs.benchmark)
    assert check_benchmark(Runs(project, gate="{must_pass: [q1]}").benchmark).rows == 40


def test_of_a_large_comparison_the_files_list_what_changed_and_the_rows_tell_of_all(runs, monkeypatch):
    monkeypatch.setattr(comparing.compare, "__kwdefaults__", {"fields": None, "most_listed": 6})
    runs.decided("kg@v1", right=30)
    run_id = runs.add("kg@v2", right=27)
    made = runs.assess("kg@v2")
    text = runs.file(run_id, "comparison.json").read_text()
    assert text == json.dumps(made.comparison.to_json(), ensure_ascii=False, indent=2) + "\n"
    assert strict(text)["left_out"] == 34
    assert [one["kind"] for one in strict(text)["transitions"]] == ["broken"] * 3 + ["still_wrong"] * 3
    assert "6 of 40 questions are listed, what changed first" in runs.file(run_id, "report.html").read_text()
    rows = list(made.transitions)
    assert [one.kind for one in rows] == ["still_right"] * 27 + ["broken"] * 3 + ["still_wrong"] * 10
    assert [one.id for one in made.transitions] == [one.id for one in rows] == [f"q{n}" for n in range(40)]


def test_a_comparison_is_written_as_it_would_be_as_a_whole(runs):
    runs.decided("kg@v1", right=30)
    run_id = runs.add("kg@v2", right=10, answers={"q15": 'any "transitions": []'})
    made = runs.assess("kg@v2")
    text = runs.file(run_id, "comparison.json").read_text()
    assert text == json.dumps(made.comparison.to_json(), ensure_ascii=False, indent=2) + "\n"
