import pytest

from bench_assets.analysis.comparison import compare
from bench_assets.analysis.sentences import effect_sentence, p_text, points
from bench_assets.analysis.transitions import AllTransitions, Outcomes, kind_of
from bench_assets.contracts.comparison import Comparison
from bench_assets.errors import InvalidInput
from tests.analysis.observing import numbered, observed


def ids(comparison, kind):
    return [one.id for one in comparison.transitions if one.kind == kind]


def test_the_same_rate_does_not_hide_which_questions_flipped():
    before = observed({"q1": "correct", "q2": "incorrect", "q3": "correct"})
    after = observed({"q1": "incorrect", "q2": "correct", "q3": "agent_error"}, "kg@v2")
    found = compare(before, after)
    assert (ids(found, "fixed"), ids(found, "broken"), ids(found, "to_error")) == (["q2"], ["q1"], ["q3"])


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (["correct"], ["correct"], "still_right"),
        (["incorrect"], ["not_attempted"], "still_wrong"),
        (["not_attempted"], ["correct"], "fixed"),
        (["correct"], ["not_attempted"], "broken"),
        (["correct"], ["judge_error"], "to_error"),
        (["incorrect"], ["missing"], "to_error"),
        (["agent_error"], ["correct"], "from_error"),
        (["missing"], ["incorrect"], "from_error"),
        (["agent_error"], ["missing"], "still_error"),
        (["correct", "incorrect"], ["correct", "correct"], "flaky"),
        (["correct", "correct"], ["correct", "agent_error"], "flaky"),
        (["incorrect", "agent_error"], ["correct", "correct"], "from_error"),
        (["incorrect", "not_attempted"], ["correct", "correct"], "fixed"),
    ],
)
def test_every_pair_of_outcomes_has_its_kind(before, after, kind):
    assert kind_of(before, after) == kind


def test_errors_count_as_wrong_and_are_named_beside_the_figures():
    one = observed(numbered([("correct", 2), ("incorrect", 6)]))
    other = observed(numbered([("correct", 2), ("incorrect", 4), ("agent_error", 2)]), "kg@v2")
    found = compare(one, other)
    assert found.effect.delta == found.headline_delta == 0.0
    assert (found.baseline.accuracy, found.candidate.accuracy) == (0.25, 0.25)
    assert (found.baseline.errors, found.candidate.errors) == (0, 2)
    assert any("`kg@v2` has 2 of 8 executions without a verdict (agent_error 2)" in note for note in found.notes)
    assert any("25.0 % of all are correct, and 33.3 % of those with a verdict" in note for note in found.notes)
    assert (found.bounds.low, found.bounds.high) == (0.0, 0.25)


def test_bounds_take_every_execution_without_a_verdict_for_and_against():
    before = observed(numbered([("correct", 5), ("agent_error", 1), ("incorrect", 4)]))
    after = observed(numbered([("correct", 6), ("judge_error", 2), ("incorrect", 2)]), "kg@v2")
    found = compare(before, after)
    assert (found.bounds.without_verdict_baseline, found.bounds.without_verdict_candidate) == (1, 2)
    assert (found.bounds.low, found.effect.delta, found.bounds.high) == pytest.approx((0.0, 0.1, 0.3))
    assert (found.unjudged_against.delta, found.unjudged_for.delta) == pytest.approx((0.1, 0.3))


def test_a_transition_shows_both_answers_both_reasons_and_both_errors():
    before = observed({"q1": "correct"}, answers={"q1": "old"})
    after = observed({"q1": "agent_error"}, "kg@v2")
    (one,) = compare(before, after).transitions
    assert (one.baseline[0].answer, one.baseline[0].reason) == ("old", "because of correct")
    assert (one.candidate[0].answer, one.candidate[0].error) == (None, "timeout: ")
    assert (one.golden, one.question) == ("golden", "What is q1?")
    assert (one.baseline_score, one.candidate_score) == (1.0, 0.0)
    assert (one.baseline_outcome, one.candidate_outcome) == ("correct", "agent_error")


META = {"q0": {"topic": "sea"}, "q1": {"topic": "sea"}, "q2": {"topic": "sky"}, "q3": {"topic": "sky"}}


def test_a_meta_field_groups_the_questions_the_largest_loss_first():
    before = observed(numbered([("correct", 4)]), meta=META)
    after = observed(numbered([("correct", 2), ("incorrect", 2)]), "kg@v2", meta=META)
    found = compare(before, after)
    assert [(one.value, one.n, one.delta) for one in found.groups] == [("sky", 2, -1.0), ("sea", 2, 0.0)]
    assert found.groups[0].counts["broken"] == 2
    assert found.groups[0].interval.low < -0.8


def test_a_group_without_questions_has_no_rate_and_no_nan():
    before = observed({"q0": "correct"}, meta={**META, "q9": {"topic": "deep"}})
    found = compare(before, observed({"q0": "correct"}, "kg@v2"), fields=["topic"])
    deep = next(one for one in found.groups if one.value == "deep")
    assert (deep.n, deep.delta, deep.baseline_accuracy, deep.interval) == (0, None, None, None)


def test_a_field_that_differs_for_each_question_makes_no_groups():
    meta = {f"q{n}": {"url": f"u{n}", "kind": "same", "tags": ["a"]} for n in range(6)}
    run = observed(numbered([("correct", 6)]), meta=meta)
    assert compare(run, observed(numbered([("correct", 6)]), "kg@v2")).groups == []
    with pytest.raises(InvalidInput, match="No question has a meta field `topic`"):
        compare(run, run, fields=["topic"])


def test_latency_and_cost_are_compared_where_both_runs_have_them():
    before = observed(
        {"q1": "correct", "q2": "correct", "q3": "agent_error"},
        durations={"q1": 100, "q2": 300},
        usage={"q1": {"total_tokens": 10}, "q2": {"total_tokens": 30}},
    )
    after = observed(
        {"q1": "correct", "q2": "correct", "q3": "correct"},
        "kg@v2",
        durations={"q1": 400, "q2": 400, "q3": 10**6},
        usage={"q1": {"total_tokens": 60}, "q3": {"total_tokens": 1}},
    )
    found = compare(before, after)
    assert (found.latency.n, found.latency.baseline, found.latency.candidate, found.latency.ratio) == (2, 200, 400, 2)
    assert (found.cost.what, found.cost.n, found.cost.ratio) == ("mean tokens", 1, 6.0)


def test_money_is_preferred_to_tokens_and_a_free_baseline_has_no_ratio():
    usage = {"q1": {"cost_usd": 0.0, "total_tokens": 5}}
    found = compare(observed({"q1": "correct"}, usage=usage), observed({"q1": "correct"}, "kg@v2", usage=usage))
    assert (found.cost.what, found.cost.ratio) == ("mean money", None)


def test_a_comparison_reads_back_from_its_file():
    before = observed(numbered([("correct", 2), ("judge_error", 1)]), meta=META)
    found = compare(before, observed(numbered([("correct", 3)]), "kg@v2"))
    assert Comparison.from_json(found.to_json()) == found


def test_a_p_value_is_never_quoted_without_its_n():
    assert p_text(0.0001, 20) == "p < 0.001, n = 20 questions"
    found = compare(
        observed(numbered([("correct", 4), ("incorrect", 1)])), observed(numbered([("correct", 3), ("incorrect", 2)]))
    )
    assert effect_sentence(found.effect) == (
        "No significant difference: -20.0 points (exact McNemar test: p = 1.000, n = 5 questions)."
    )
    better = compare(observed(numbered([("incorrect", 20)])), observed(numbered([("correct", 20)])))
    assert effect_sentence(better.effect).startswith("Significantly better: +100.0 points, 95 % between")


def test_a_difference_that_rounds_to_nothing_has_no_sign():
    assert (points(-0.0001), points(0.0249), points(None)) == ("0.0 points", "+2.5 points", "-")


def test_of_many_questions_those_that_changed_are_listed_and_all_are_counted():
    before = observed(numbered([("correct", 6), ("incorrect", 3)]))
    after = observed({**numbered([("correct", 6), ("incorrect", 3)]), "q4": "incorrect", "q8": "correct"}, "kg@v2")
    whole, short = compare(before, after), compare(before, after, most_listed=4)
    assert [one.id for one in short.transitions] == ["q4", "q6", "q7", "q8"]
    assert (short.left_out, whole.left_out) == (5, 0)
    assert short.counts == whole.counts
    assert short.effect == whole.effect
    assert compare(before, after, most_listed=0).transitions == []


def test_what_became_of_all_questions_is_told_without_their_texts():
    before = observed({"q1": ["correct", "correct"], "q2": ["correct", "incorrect"], "q3": ["missing", "agent_error"]})
    after = observed({"q1": ["agent_error", "agent_error"], "q2": ["correct", "correct"]}, "kg@v2", questions=3)
    told = list(AllTransitions(before, after))
    fields = Outcomes._fields
    assert told == [Outcomes(*(getattr(one, name) for name in fields)) for one in compare(before, after).transitions]
    assert [one.kind for one in told] == ["to_error", "flaky", "still_error"]
