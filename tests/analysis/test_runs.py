import pytest

from bench_assets.analysis.metrics import summarize
from bench_assets.analysis.runs import LONGEST_TEXT, observe_run
from bench_assets.analysis.usage import money_of, tokens_of
from bench_assets.contracts.plan import Selection
from bench_assets.errors import InvalidInput
from tests.analysis.observing import observed, records, run_record


def read(said, scored, *, questions, repetitions=1, **changes):
    summary = summarize([], questions=questions, repetitions=repetitions, partial=False)
    run = run_record(selection=Selection(questions=questions, repetitions=repetitions), **changes)
    return observe_run(run, summary, answers=said, scores=scored)


@pytest.mark.parametrize("status", ["checkpoint", "interrupted"])
def test_a_run_that_is_not_finished_is_refused_with_what_to_do(status):
    with pytest.raises(InvalidInput, match=rf"status is `{status}`.*--resume --run-id"):
        observed({"q1": "correct"}, run={"status": status})


def test_answers_and_scores_are_paired_by_question_and_repetition_and_not_by_position():
    said, scored = records({"q1": ["correct", "incorrect"], "q2": ["agent_error", "correct"]})
    run = read(said[::-1], [scored[2], scored[0], scored[3], scored[1]], questions=2, repetitions=2)
    assert list(run.columns.outcomes_of("q1")) == ["correct", "incorrect"]
    assert list(run.columns.outcomes_of("q2")) == ["agent_error", "correct"]


def test_what_was_planned_and_never_settled_is_missing():
    run = observed({"q1": ["correct", "missing"], "q2": ["missing", "correct"]})
    assert list(run.columns.outcomes_of("q1")) == ["correct", "missing"]
    assert list(run.columns.outcomes_of("q2")) == ["missing", "correct"]


def test_files_that_do_not_belong_together_are_refused():
    said, scored = records({"q1": "correct", "q2": "correct"})
    with pytest.raises(InvalidInput, match="without a score"):
        read(said, scored[:1], questions=2)
    with pytest.raises(InvalidInput, match="without its answer"):
        read(said[:1], scored, questions=2)
    with pytest.raises(InvalidInput, match=r"scores `q1` \(repetition 1\) twice"):
        read(said[:1], scored[:1] * 2, questions=2)
    with pytest.raises(InvalidInput, match="without a score, or twice"):
        read([*said, said[0]], scored, questions=2)


def test_more_than_was_planned_is_refused():
    said, scored = records({"q1": "correct", "q2": "correct"})
    summary = summarize(zip(said, scored, strict=True), questions=2, repetitions=1, partial=False)
    with pytest.raises(InvalidInput, match="more than its plan of 1 questions"):
        observe_run(run_record(selection=Selection(questions=1)), summary, answers=said, scores=scored)


def test_one_id_with_two_texts_is_refused():
    said, scored = records({"q1": ["correct", "correct"]})
    said[1] = said[1].model_copy(update={"question": "Another?"})
    with pytest.raises(InvalidInput, match="two different questions under the id `q1`"):
        read(said, scored, questions=1, repetitions=2)


def test_a_long_answer_is_cut_and_says_so():
    run = observed({"q1": "correct"}, answers={"q1": "x" * (LONGEST_TEXT + 7)})
    ((_, detail),) = run.details({0})
    assert detail.executions[0].answer == "x" * LONGEST_TEXT + "… (7 more characters)"


def test_usage_is_read_as_money_or_tokens():
    assert money_of({"cost_usd": 0.25, "total_tokens": 7}) == 0.25
    assert money_of({"cost": "much"}) is None
    assert money_of(None) is None
    assert tokens_of({"prompt_tokens": 3, "completion_tokens": 4}) == 7
    assert tokens_of({"total_tokens": 9, "prompt_tokens": 3, "completion_tokens": 4}) == 9
    assert tokens_of({"prompt_tokens": 3}) is None


def test_a_run_that_is_held_against_no_other_knows_single_questions_by_name_only():
    said, scored = records({"q1": "correct", "q2": "agent_error", "q3": "incorrect"})
    summary = summarize(zip(said, scored, strict=True), questions=3, repetitions=1, partial=False)
    run = run_record(selection=Selection(questions=3))
    found = observe_run(run, summary, answers=said, scores=scored[::-1], pairing=False, named=["q2", "q9"])
    assert (found.columns.outcomes_of("q2"), found.columns.outcomes_of("q9")) == (("agent_error",), ())
    with pytest.raises(KeyError):
        found.columns.outcomes_of("q1")
    assert [detail.id for _, detail in found.details({0, 2})] == ["q1", "q3"]
    assert found.columns.correct_of() == {0: 2, 1: 1}


def test_repetitions_that_lie_apart_become_one_question_again():
    said, scored = records({"q1": ["correct", "missing", "incorrect"], "q2": ["correct", "correct", "correct"]})
    run = read(said[::-1], scored, questions=2, repetitions=3)
    details = {detail.id: [one.outcome for one in detail.executions] for _, detail in run.details({0, 1})}
    assert details == {"q1": ["correct", "missing", "incorrect"], "q2": ["correct"] * 3}
