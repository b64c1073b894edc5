import pytest

from bench_assets.analysis.baselines import Baseline
from bench_assets.analysis.comparison import compare
from bench_assets.analysis.gate import decide
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.gate_policy import GatePolicy
from bench_assets.contracts.score import JudgeIdentity
from bench_assets.errors import InvalidInput
from tests.analysis.observing import JUDGE, numbered, observed

HELD_AGAINST = Baseline("kg@v1", "run-kg@v1", "The baseline `kg@v1` is the newest accepted one.")


def gate(before, after, *, judge_kappa=None, p_value=None, **policy):
    return decide(
        GatePolicy(**policy),
        candidate=after,
        baseline=HELD_AGAINST,
        comparison=compare(before, after),
        decided_at="2026-01-01T00:00:00.000000+00:00",
        judge_kappa=judge_kappa,
        p_value=p_value,
    )


def runs(before, after):
    """Two runs with so many (outcome, number) each."""
    return observed(numbered(before)), observed(numbered(after), "kg@v2")


def check(decision, name):
    return next(one for one in decision.checks if one.name == name)


def test_a_drop_beyond_chance_and_beyond_the_allowed_is_no_go():
    found = gate(*runs([("correct", 100)], [("correct", 85), ("incorrect", 15)]))
    assert (found.verdict, found.exit_code) == ("NO-GO", 1)
    assert found.delta == pytest.approx(-0.15)
    assert found.checks[0].name == "accuracy"
    assert "more than the allowed drop of 2.0 points, and beyond chance" in found.reasons[0]
    assert "n = 100 questions" in found.reasons[0]


def test_an_improvement_beyond_chance_is_go():
    found = gate(*runs([("incorrect", 30), ("correct", 170)], [("correct", 200)]))
    assert (found.verdict, found.exit_code) == ("GO", 0)
    assert "a drop of more than 2.0 points is ruled out" in check(found, "accuracy").reason


def test_equal_answers_to_many_questions_are_go_and_to_few_are_inconclusive():
    many = gate(*runs([("correct", 300), ("incorrect", 100)], [("correct", 300), ("incorrect", 100)]))
    assert many.verdict == "GO"
    few = gate(*runs([("correct", 5)], [("correct", 5)]))
    assert (few.verdict, few.exit_code) == ("INCONCLUSIVE", 2)
    assert "5 questions do not rule out a drop of more than 2.0 points" in few.reasons[0]
    assert few.questions_needed > 100


def test_a_one_question_move_on_a_tiny_set_fails_by_an_explicit_threshold_only():
    both = runs([("correct", 4), ("incorrect", 1)], [("correct", 3), ("incorrect", 2)])
    assert gate(*both).verdict == "INCONCLUSIVE"
    assert gate(*both, max_drop=0.1).verdict == "INCONCLUSIVE"
    assert "chance may explain it" in gate(*both, max_drop=0.1).reasons[0]
    assert gate(*both, max_drop=0.1, alpha=None).verdict == "NO-GO"
    assert gate(*both, max_drop=0.2, alpha=None).verdict == "GO"


def test_a_significant_drop_within_the_allowed_is_no_reason_for_no_go():
    found = gate(*runs([("correct", 1000)], [("correct", 985), ("incorrect", 15)]), max_drop=0.05)
    assert found.p_value < 0.001
    assert found.verdict == "GO"


def test_removed_questions_fail_the_gate_unless_the_policy_allows_it():
    before, after = observed({"q1": "correct", "q2": "correct"}), observed({"q1": "correct"}, "kg@v2")
    found = gate(before, after)
    assert found.verdict == "NO-GO"
    assert check(found, "comparable").status == "fail"
    assert "Left out: 1 question asked of the baseline and not of the candidate (`q2`)." in found.reasons[0]
    allowed = gate(before, after, allow_population_change=True, max_drop=0.99)
    assert check(allowed, "comparable").status == "pass"
    assert allowed.verdict == "GO"


def test_added_questions_do_not_fail_the_gate():
    before = observed(numbered([("correct", 200)]))
    after = observed({**numbered([("correct", 200)]), "new": "incorrect"}, "kg@v2")
    assert gate(before, after).verdict == "GO"


def test_another_judge_leaves_the_gate_undecided():
    before, _ = runs([("correct", 100)], [])
    judge = JUDGE.model_copy(update={"digest": "1" * 16, "scorer_version": 2})
    after = observed(numbered([("correct", 50), ("incorrect", 50)]), "kg@v2", run={"judge_identity": judge})
    found = gate(before, after)
    assert found.verdict == "INCONCLUSIVE"
    assert {one.name for one in found.checks if one.status == "unknown"} == {"comparable", "accuracy"}


def test_a_drop_that_the_judge_could_still_turn_is_inconclusive():
    before = [("correct", 200)]
    found = gate(*runs(before, [("correct", 185), ("judge_error", 15)]), min_coverage=0.9)
    assert found.verdict == "INCONCLUSIVE"
    assert "they could make the difference 0.0 points. Judge them first" in check(found, "accuracy").reason
    agents = gate(*runs(before, [("correct", 185), ("agent_error", 15)]), min_coverage=0.9)
    assert agents.verdict == "NO-GO"


def test_an_improvement_that_rests_on_an_unjudged_baseline_is_inconclusive():
    found = gate(*runs([("judge_error", 20), ("correct", 180)], [("incorrect", 20), ("correct", 180)]))
    assert found.delta == 0.0
    assert check(found, "accuracy").status == "unknown"


def test_low_coverage_is_inconclusive_unless_the_agent_is_to_blame():
    before = [("correct", 100)]
    unjudged = check(gate(*runs(before, [("correct", 90), ("judge_error", 10)])), "coverage")
    assert unjudged.status == "unknown"
    assert "90.0 % of the executions have a verdict; at least 95.0 %" in unjudged.reason
    failed = check(gate(*runs(before, [("correct", 90), ("agent_error", 10)])), "coverage")
    assert (failed.status, "failed in 10 of them" in failed.reason) == ("fail", True)


def test_too_many_agent_errors_are_no_go():
    both = runs([("agent_error", 3), ("correct", 97)], [("agent_error", 3), ("correct", 97)])
    assert check(gate(*both, max_error_rate=0.02), "agent_errors").status == "fail"
    assert check(gate(*both, max_error_rate=0.03), "agent_errors").status == "pass"
    assert "agent_errors" not in {one.name for one in gate(*both).checks}


def test_questions_that_must_pass_must_be_right_every_time():
    after = observed(
        {"a": ["correct", "correct"], "b": ["correct", "incorrect"], "c": ["correct", "judge_error"]}, "kg@v2"
    )
    before = observed({"a": ["correct"] * 2, "b": ["correct"] * 2, "c": ["correct"] * 2})
    assert check(gate(before, after, must_pass=["a"]), "must_pass").status == "pass"
    assert check(gate(before, after, must_pass=["a", "c"]), "must_pass").status == "unknown"
    failed = check(gate(before, after, must_pass=["a", "b", "zz"]), "must_pass")
    assert failed.status == "fail"
    assert failed.reason == "Not passed: 2 of the 3 questions that must pass (`b`, `zz`). Not in this run: `zz`."


def test_a_judge_that_nobody_measured_leaves_the_gate_undecided():
    judge = JudgeIdentity(method="llm_judge", model="m", settings={}, scorer_version=1, digest="2" * 16)
    before, after = (
        observed(numbered([("correct", 300)]), name, run={"judge_identity": judge}) for name in ("kg@v1", "kg@v2")
    )
    assert gate(before, after, min_judge_kappa=0.6).verdict == "INCONCLUSIVE"
    assert gate(before, after, min_judge_kappa=0.6, judge_kappa=0.4).verdict == "INCONCLUSIVE"
    assert gate(before, after, min_judge_kappa=0.6, judge_kappa=0.7).verdict == "GO"
    assert gate(*runs([("correct", 300)], [("correct", 300)]), min_judge_kappa=0.6).verdict == "GO"


def test_slower_or_dearer_than_allowed_is_no_go():
    outcomes = numbered([("correct", 300)])
    before = observed(outcomes, durations=dict.fromkeys(outcomes, 100))
    after = observed(outcomes, "kg@v2", durations=dict.fromkeys(outcomes, 160))
    found = gate(before, after, max_latency_ratio=1.5, max_cost_ratio=2)
    assert check(found, "latency").status == "fail"
    assert "160, 1.60 times the baseline's 100 (n = 300 executions); 1.5 times is allowed" in found.reasons[0]
    assert check(found, "cost").status == "unknown"
    assert gate(before, after, max_latency_ratio=1.6).verdict == "GO"


def test_the_first_candidate_is_judged_by_itself():
    first = Baseline(None, None, "No other candidate of `kg` has been accepted on `facts@1.0` yet.")
    run = observed(numbered([("correct", 9), ("incorrect", 1)]))
    at = "2026-01-01T00:00:00.000000+00:00"
    found = decide(GatePolicy(), candidate=run, baseline=first, comparison=None, decided_at=at)
    assert (found.verdict, found.baseline, found.delta) == ("GO", None, None)
    failing = GatePolicy(must_pass=["q9"])
    assert decide(failing, candidate=run, baseline=first, comparison=None, decided_at=at).verdict == "NO-GO"
    absent = Baseline(None, None, "The baseline has no finished run.", needed=True)
    assert (
        decide(GatePolicy(), candidate=run, baseline=absent, comparison=None, decided_at=at).verdict == "INCONCLUSIVE"
    )


def test_a_corrected_p_value_takes_the_place_of_the_comparison_s_own():
    both = runs([("correct", 100)], [("correct", 93), ("incorrect", 7)])
    assert gate(*both).verdict == "NO-GO"
    found = gate(*both, p_value=0.2)
    assert (found.verdict, found.p_value) == ("INCONCLUSIVE", 0.2)


def test_every_reason_is_listed_the_worst_first():
    before, after = runs([("correct", 100)], [("correct", 80), ("incorrect", 20)])
    found = gate(before, after, must_pass=["q99"], max_cost_ratio=2.0)
    order = ["fail", "unknown", "pass"]
    statuses = [order.index(one.status) for one in found.checks]
    assert statuses == sorted(statuses)
    assert {one.name for one in found.checks if one.status == "fail"} == {"accuracy", "must_pass"}
    assert len(found.reasons) == len(found.checks) == 6


def test_a_decision_reads_back_from_its_file():
    found = gate(*runs([("correct", 9)], [("correct", 9)]))
    assert GateDecision.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        ({"baseline": "newest"}, "`baseline`: `last_accepted`, `previous` or a candidate"),
        ({"max_drop": 2}, "less than or equal to 1"),
        ({"alpha": 0}, "greater than 0"),
        ({"max_loss": 0.1}, "`max_loss`: is not a key"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(policy, fault):
    with pytest.raises(InvalidInput, match=fault):
        GatePolicy.from_json(policy)


def test_ids_that_yaml_reads_as_numbers_are_texts():
    assert GatePolicy.from_json({"must_pass": [1, "q2"], "baseline": "kg@v1"}).must_pass == ["1", "q2"]
