import pytest

from bench_assets.analysis.comparison import compare
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.plan import Selection
from tests.analysis.observing import JUDGE, environment, observed

TWO = {"q1": "correct", "q2": "incorrect"}


def against(**changes):
    """Two runs that are alike but for `changes` in the second."""
    return compare(observed(TWO), observed(TWO, "kg@v2", run=changes))


def named(comparison, area):
    return {one.name: one.weight for one in comparison.differences if one.area == area}


def test_only_another_version_of_the_agent_is_comparable():
    found = against(commit="b" * 40)
    assert found.comparable == "comparable"
    assert named(found, "agent") == {"candidate": "intended", "commit": "intended"}


def test_a_question_that_is_gone_is_removed_and_not_a_regression():
    found = compare(observed({"q1": "correct", "q2": "correct"}), observed({"q1": "correct"}, "kg@v2"))
    assert found.population.removed == ["q2"]
    assert found.counts["broken"] == found.counts["to_error"] == 0
    assert found.effect.delta == 0.0
    assert found.comparable == "not_comparable"


def test_new_questions_are_a_note_and_stay_out_of_the_effect():
    found = compare(observed({"q1": "correct"}), observed({"q1": "correct", "q2": "incorrect"}, "kg@v2"))
    assert (found.population.added, found.population.common) == (["q2"], 1)
    assert found.comparable == "comparable_with_notes"
    assert (found.headline_delta, found.effect.delta) == (-0.5, 0.0)
    assert any("different questions (1 and 2)" in note for note in found.notes)


def test_edited_questions_and_goldens_are_told_apart_and_not_compared():
    outcomes = dict.fromkeys(("q1", "q2", "q3"), "correct")
    before = observed(outcomes)
    after = observed({**outcomes, "q1": "incorrect"}, "kg@v2", texts={"q1": "Else?"}, goldens={"q2": "other"})
    found = compare(before, after)
    assert found.population.edited_questions == ["q1"]
    assert found.population.edited_goldens == ["q2"]
    assert [one.id for one in found.transitions] == ["q3"]
    assert found.comparable == "not_comparable"


def test_a_golden_alone_and_in_a_list_of_one_are_the_same():
    before, after = (observed({"q1": "correct"}, goldens={"q1": golden}) for golden in ("4", ["4"]))
    assert compare(before, after).population.same


def test_a_planned_question_without_a_file_is_missing_and_not_removed():
    found = compare(observed({"q1": "correct", "q2": "correct"}), observed({"q1": "correct"}, "kg@v2", questions=2))
    assert found.population.same
    assert [(one.id, one.kind) for one in found.transitions] == [("q1", "still_right"), ("q2", "to_error")]
    assert found.transitions[1].candidate[0].outcome == "missing"


def test_a_sample_that_leaves_questions_out_removes_them():
    sample = observed({"q1": "correct"}, "kg@v2", ids=["q1"])
    found = compare(observed({"q1": "correct", "q2": "correct"}), sample)
    assert found.population.removed == ["q2"]


def test_nothing_in_common_has_no_figures():
    found = compare(observed({"q1": "correct"}), observed({"q2": "correct"}, "kg@v2"))
    assert found.comparable == "not_comparable"
    assert found.effect is found.bounds is found.latency is None
    assert found.transitions == []


def test_another_judge_blocks_and_says_what_differs():
    other = JUDGE.model_copy(update={"settings": {"ignore_case": False}, "digest": "1" * 16})
    found = against(judge_identity=other)
    assert found.comparable == "not_comparable"
    (difference,) = [one for one in found.differences if one.area == "scoring"]
    assert "`settings` differ" in difference.message
    assert (difference.baseline, difference.candidate) == ("0" * 16, "1" * 16)


def test_a_run_in_which_nothing_was_judged_is_noted():
    assert named(against(judge_identity=None), "scoring") == {"judge": "note"}


@pytest.mark.parametrize(
    ("changes", "area", "name"),
    [
        ({"policy": ExecutionPolicy(timeout_sec=1)}, "execution", "timeout_sec"),
        ({"policy": ExecutionPolicy(retries=7)}, "execution", "retries"),
        ({"policy": ExecutionPolicy(parallelism=64)}, "execution", "parallelism"),
        ({"agent_env": ["API_KEY"]}, "execution", "agent_env"),
        ({"env_overrides": {"MODE": "***"}}, "execution", "env_overrides"),
        ({"bench_assets_version": "9"}, "execution", "bench_assets_version"),
        ({"selection": Selection(questions=2, limit=2)}, "selection", "limit"),
        ({"environment": environment("kg@v2", python="3.12.1")}, "environment", "python"),
        ({"environment": environment("kg@v2", platform="macos")}, "environment", "platform"),
        ({"environment": environment("kg@v2", lock_digest="2" * 64)}, "environment", "lock"),
        ({"kwargs": {"k": 5}}, "agent", "kwargs"),
        ({"dirty": True}, "agent", "dirty"),
        ({"benchmark": "facts@1.1"}, "benchmark", "version"),
    ],
)
def test_every_other_condition_that_changed_is_named(changes, area, name):
    found = against(**changes)
    assert found.comparable == "comparable_with_notes"
    assert named(found, area)[name] == "note"


def test_the_packages_of_another_version_are_expected_to_differ():
    source = environment("kg@v2").source.model_copy(update={"requirement": "kg @ def"})
    changed = environment("kg@v2", source=source, lock_digest="2" * 64)
    assert named(against(environment=changed), "environment") == {"lock": "intended"}


def test_what_a_variant_changes_is_intended():
    found = compare(observed(TWO), observed(TWO, "kg@v1~large", run={"kwargs": {"size": 2}}))
    assert named(found, "agent") == {"candidate": "intended", "kwargs": "intended"}


def test_another_benchmark_blocks():
    assert named(against(benchmark="sums@1.0"), "benchmark") == {"name": "blocks"}


def test_two_runs_of_the_same_version_say_so():
    found = compare(observed(TWO), observed(TWO, run={"run_id": "again"}))
    assert any("same version" in note for note in found.notes)


def test_the_first_repetitions_of_each_are_compared_when_numbers_differ():
    before = observed({"q1": "correct", "q2": "incorrect"})
    after = observed({"q1": ["correct", "incorrect", "incorrect"], "q2": ["correct", "correct", "incorrect"]}, "kg@v2")
    found = compare(before, after)
    assert named(found, "selection") == {"repetitions": "note"}
    assert found.effect.repetitions == 1
    assert found.counts["fixed"] == found.counts["still_right"] == 1
    assert found.candidate.accuracy == 0.5
