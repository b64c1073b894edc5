"""What the judge's replies become, through the endpoint."""

import asyncio
import json
from time import monotonic

import pytest

from bench_assets.errors import JudgeFailed
from bench_assets.judging.scorer import open_scorer
from tests.fakes.openai_endpoint import OpenAIEndpoint, says, verdict
from tests.judging.making import item, judge, llm_judge


def test_a_fenced_reply_costs_no_second_call():
    with OpenAIEndpoint(says('```json\n{"label": "correct", "reason": "same year"}\n```')) as endpoint:
        (found,) = judge(endpoint, item())
    assert (found.label, found.reason, found.calls, len(endpoint.requests)) == ("correct", "same year", 1, 1)


@pytest.mark.parametrize(
    "reply", ['{"label": "partially correct", "reason": "x"}', "not correct", '{"label": "", "reason": "x"}']
)
def test_a_label_that_is_none_of_ours_is_a_judge_error_after_the_budget(reply):
    with OpenAIEndpoint(answer=lambda _: says(reply)) as endpoint:
        (found,) = judge(endpoint, item(), retries=2)
    assert (found.label, found.error.code, found.calls) == (None, "unknown_label", 3)
    assert found.replies == [reply] * 3


def test_a_second_try_may_say_it_right_and_every_reply_is_kept():
    with OpenAIEndpoint(says("INCORRECT"), verdict("incorrect")) as endpoint:
        (found,) = judge(endpoint, item(), retries=1)
    assert (found.label, found.calls) == ("incorrect", 2)
    assert found.replies == ["INCORRECT", json.dumps({"reason": "because", "label": "incorrect"})]
    assert found.usage == {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (says(None, finish_reason="tool_calls", tool_calls=[{"id": "1"}]), "tool_calls"),
        (says(None, refusal="I cannot help"), "I cannot help"),
        (says([{"type": "image_url"}]), "stop"),
        (says(5), "stop"),
    ],
)
def test_no_text_at_all_is_no_content_and_never_the_word_none(reply, words):
    with OpenAIEndpoint(answer=lambda _: reply) as endpoint:
        (found,) = judge(endpoint, item(), retries=1)
    assert (found.label, found.error.code, found.calls) == (None, "no_content", 2)
    assert words in found.error.message
    assert "None" not in found.model_dump_json()
    assert found.replies == []


def test_text_that_comes_in_parts_is_put_together():
    parts = [{"type": "text", "text": '{"label": '}, {"type": "text", "text": '"correct"}'}]
    with OpenAIEndpoint(says(parts)) as endpoint:
        (found,) = judge(endpoint, item())
    assert found.label == "correct"


@pytest.mark.parametrize(("why", "calls"), [("length", 2), ("content_filter", 1), ("stop", 2)])
def test_an_empty_reply_names_why_it_is_empty(why, calls):
    with OpenAIEndpoint(answer=lambda _: says("", finish_reason=why)) as endpoint:
        (found,) = judge(endpoint, item(), retries=1)
    assert (found.label, found.error.code, found.calls) == (None, f"judge_empty:{why}", calls)


def test_a_reply_that_ran_into_its_token_limit_says_so():
    with OpenAIEndpoint(says('{"reason": "the year', finish_reason="length")) as endpoint:
        (found,) = judge(endpoint, item(), retries=0)
    assert found.error.code == "truncated"
    assert "token limit" in found.error.message


def test_replies_of_the_wrong_shape_fail_one_by_one_and_the_rest_goes_on():
    bad = ['[{"label": "correct"}]', '{"verdict": "ok"}', '"correct"', '{"label": ["correct"]}']
    with OpenAIEndpoint(*(says(reply) for reply in bad), verdict("correct")) as endpoint:
        found = judge(endpoint, *(item(f"a{n}") for n in range(5)), retries=0)
    assert [one.error and one.error.code for one in found] == ["wrong_shape"] * 4 + [None]
    assert found[4].label == "correct"


def by_content(request):
    judged = request.judged
    delay = 0.03 if judged["answer"].endswith("3") else 0.0
    return verdict("correct" if judged["answer"] == judged["golden"] else "incorrect", delay=delay)


def test_many_at_once_come_back_in_order_each_with_its_own_verdict():
    items = [item(f"a{n}", golden=f"a{n}" if n % 3 else "other") for n in range(120)]
    with OpenAIEndpoint(answer=by_content) as endpoint, open_scorer(llm_judge(endpoint, concurrency=6)) as scorer:
        found = list(scorer.score(items))
    assert [one for one, _ in found] == items
    assert [one.label for _, one in found] == ["correct" if n % 3 else "incorrect" for n in range(120)]
    assert 2 <= endpoint.most_in_flight <= 6


def test_items_are_taken_only_a_bounded_number_ahead():
    taken = []

    def items():
        for n in range(1000):
            taken.append(n)
            yield item(f"a{n}")

    with OpenAIEndpoint(answer=by_content) as endpoint, open_scorer(llm_judge(endpoint, concurrency=2)) as scorer:
        verdicts = scorer.score(items())
        next(verdicts)
        assert len(taken) <= 40
        verdicts.close()
    assert len(endpoint.requests) <= 40


def test_it_works_where_an_event_loop_runs_already():
    async def inside():
        with OpenAIEndpoint(answer=by_content) as endpoint:
            return judge(endpoint, item("x", golden="x"))

    assert [one.label for one in asyncio.run(inside())] == ["correct"]


def test_a_scorer_can_be_used_again_and_closed_twice():
    with OpenAIEndpoint(answer=by_content) as endpoint:
        with open_scorer(llm_judge(endpoint)) as scorer:
            assert [one.label for _, one in scorer.score([item("x", golden="x")])] == ["correct"]
            assert [one.label for _, one in scorer.score([item("y", golden="x")])] == ["incorrect"]
        scorer.close()


def test_closing_does_not_wait_for_what_is_under_way():
    with OpenAIEndpoint(answer=lambda _: verdict("correct", delay=15)) as endpoint:
        scorer = open_scorer(llm_judge(endpoint, concurrency=4))

        def items():
            yield item("a")
            yield item("b")
            scorer.close()

        began = monotonic()
        with pytest.raises(JudgeFailed, match="was closed"):
            list(scorer.score(items()))
        assert monotonic() - began < 10
