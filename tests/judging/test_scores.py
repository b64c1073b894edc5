import pytest

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import JudgeFailed
from bench_assets.judging.scorer import MemoryVerdicts, is_blank, open_scorer, score_answers
from bench_assets.judging.settings import effective_judge
from tests.fakes.openai_endpoint import OpenAIEndpoint, error, says, verdict
from tests.judging.making import answer, llm_judge


def scores(endpoint, *answers, **settings):
    with open_scorer(llm_judge(endpoint, **({"concurrency": 1} | settings))) as scorer:
        return list(score_answers(answers, scorer))


def test_a_verdict_becomes_a_score():
    with OpenAIEndpoint(
        verdict("correct", "the same city"), verdict("incorrect"), verdict("not_attempted")
    ) as endpoint:
        judge = llm_judge(endpoint, concurrency=1)
        with open_scorer(judge) as scorer:
            found = list(score_answers([answer("Paris"), answer("Rome", id="q2"), answer("[]", id="q3")], scorer))
    assert [(one.id, one.value, one.label, one.outcome) for one in found] == [
        ("q1", 1.0, "correct", "correct"),
        ("q2", 0.0, "incorrect", "incorrect"),
        ("q3", 0.0, "not_attempted", "not_attempted"),
    ]
    assert found[0].reason == "the same city"
    assert {one.method for one in found} == {"llm_judge"}
    assert {one.judge for one in found} == {judge.identity.digest}
    assert found[0].usage == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def test_what_is_empty_or_an_error_costs_no_judgement():
    answers = [
        answer("", id="q1"),
        answer("   \n", id="q2"),
        answer("[]", id="q3"),
        answer(None, id="q4", error="bad_answer"),
        answer(None, id="q5"),
        answer("\u200b\ufeff", id="q6"),
    ]
    with OpenAIEndpoint(verdict("not_attempted")) as endpoint:
        found = scores(endpoint, *answers)
    assert [(one.outcome, one.label, one.value) for one in found] == [
        ("not_attempted", "not_attempted", 0.0),
        ("not_attempted", "not_attempted", 0.0),
        ("not_attempted", "not_attempted", 0.0),
        ("agent_error", None, 0.0),
        ("agent_error", None, 0.0),
        ("not_attempted", "not_attempted", 0.0),
    ]
    assert [request.judged["answer"] for request in endpoint.requests] == ["[]"]
    assert "bad_answer" in found[3].reason


def test_a_failed_judgement_is_a_judge_error_and_no_mistake_of_the_agent():
    with OpenAIEndpoint(verdict("correct"), says("hm"), verdict("correct")) as endpoint:
        found = scores(endpoint, *(answer("Paris", id=f"q{n}") for n in range(3)), retries=0)
    assert [one.outcome for one in found] == ["correct", "judge_error", "correct"]
    assert (found[1].label, found[1].value, found[1].error.code) == (None, None, "unknown_label")
    assert found[1].replies == ["hm"]


def test_scores_come_in_the_order_of_the_answers_with_their_repetitions():
    def judged(request):
        return verdict("correct" if request.judged["answer"] == "Paris" else "incorrect")

    answers = [
        answer(
            ["Paris", "", "Rome", None][n % 4],
            id=f"q{n // 2}",
            repetition=n % 2 + 1,
            error="timeout" if n % 4 == 3 else None,
        )
        for n in range(80)
    ]
    with OpenAIEndpoint(answer=judged) as endpoint:
        found = scores(endpoint, *answers, concurrency=5)
    assert [(one.id, one.repetition, one.execution_id) for one in found] == [
        (one.id, one.repetition, one.execution_id) for one in answers
    ]
    assert [one.outcome for one in found] == ["correct", "not_attempted", "incorrect", "agent_error"] * 20


def test_answers_are_not_held_back_until_the_last_one():
    taken = []

    def many():
        for n in range(500):
            taken.append(n)
            yield answer("Paris", id=f"q{n}")

    with open_scorer(effective_judge(JudgeSpec(type="exact_match"), environ={})) as scorer:
        next(score_answers(many(), scorer))
    assert len(taken) < 10


def test_a_kept_verdict_says_that_it_was_kept():
    kept = MemoryVerdicts()
    with OpenAIEndpoint(verdict("correct")) as endpoint, open_scorer(llm_judge(endpoint), verdicts=kept) as scorer:
        found = list(score_answers([answer("Paris")], scorer)) + list(score_answers([answer("Paris")], scorer))
    assert [one.cached for one in found] == [False, True]


def test_a_judge_that_refuses_everything_ends_the_scoring_after_what_was_judged():
    with (
        OpenAIEndpoint(verdict("correct"), answer=lambda _: error(401, "key revoked")) as endpoint,
        open_scorer(llm_judge(endpoint, concurrency=1)) as scorer,
    ):
        judged = score_answers((answer("Paris", id=f"q{n}") for n in range(100)), scorer)
        assert next(judged).outcome == "correct"
        with pytest.raises(JudgeFailed, match="key revoked"):
            list(judged)
    assert len(endpoint.requests) == 2


def test_a_matcher_scores_without_a_model():
    judge = effective_judge(JudgeSpec(type="exact_match"), environ={})
    with open_scorer(judge) as scorer:
        found = list(
            score_answers([answer("paris."), answer("Rome", id="q2"), answer(None, id="q3", error="timeout")], scorer)
        )
    assert [one.outcome for one in found] == ["correct", "incorrect", "agent_error"]
    assert {one.method for one in found} == {"exact_match"}
    assert found[1].reason == "The answer `Rome` is not `Paris`."


@pytest.mark.parametrize("text", ["", " ", "\n\t\r", "\u00a0", "\u200b", "\ufeff\u2060", "\x00"])
def test_text_without_anything_to_see_is_blank(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", ["[]", '""', ".", "0"])
def test_a_sign_is_not_blank(text):
    assert not is_blank(text)
