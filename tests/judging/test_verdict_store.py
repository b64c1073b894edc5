import pytest

from bench_assets.errors import StorageFailed
from bench_assets.judging.identity import verdict_key
from bench_assets.judging.scorer import MemoryVerdicts, open_scorer
from tests.fakes.openai_endpoint import OpenAIEndpoint, says, verdict
from tests.judging.making import item, judge, llm_judge


def test_an_unchanged_answer_is_judged_once():
    kept = MemoryVerdicts()
    with OpenAIEndpoint(verdict("correct", "the same city")) as endpoint:
        (first,) = judge(endpoint, item(), verdicts=kept)
        (second,) = judge(endpoint, item(), verdicts=kept)
    assert len(endpoint.requests) == 1
    assert (first.cached, first.calls) == (False, 1)
    assert (second.cached, second.calls, second.usage) == (True, 0, None)
    assert (second.label, second.reason, second.replies) == (first.label, first.reason, first.replies)


def test_the_same_answer_twice_at_once_is_one_judgement():
    kept = MemoryVerdicts()
    with OpenAIEndpoint(answer=lambda _: verdict("correct", delay=0.1)) as endpoint:
        found = judge(endpoint, *[item()] * 20, verdicts=kept, concurrency=8)
    assert len(endpoint.requests) == 1
    assert sum(verdict.calls for verdict in found) == 1
    assert [verdict.label for verdict in found] == ["correct"] * 20


def test_without_a_store_every_answer_is_judged_anew():
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        judge(endpoint, item(), item())
    assert len(endpoint.requests) == 2


def test_another_judge_asks_anew_and_its_verdict_stands_under_its_own_name():
    kept = MemoryVerdicts()
    with OpenAIEndpoint(verdict("correct"), verdict("incorrect")) as endpoint:
        (first,) = judge(endpoint, item(), verdicts=kept, model="a")
        (second,) = judge(endpoint, item(), verdicts=kept, model="b")
        (again,) = judge(endpoint, item(), verdicts=kept, model="a")
    assert [first.label, second.label, again.label] == ["correct", "incorrect", "correct"]
    assert [request.body["model"] for request in endpoint.requests] == ["a", "b"]


def test_a_failure_is_not_kept():
    kept = MemoryVerdicts()
    with OpenAIEndpoint(says("no idea"), verdict("correct")) as endpoint:
        (first,) = judge(endpoint, item(), verdicts=kept, retries=0)
        (second,) = judge(endpoint, item(), verdicts=kept, retries=0)
    assert (first.label, second.label, second.cached) == (None, "correct", False)
    assert len(kept) == 1


def test_the_key_covers_judge_question_golden_and_answer_exactly():
    with OpenAIEndpoint() as endpoint:
        one = llm_judge(endpoint).identity
        other = llm_judge(endpoint, top_p=0.5).identity
    keys = [
        verdict_key(one, question="q", golden="g", answer="a"),
        verdict_key(other, question="q", golden="g", answer="a"),
        verdict_key(one, question="q2", golden="g", answer="a"),
        verdict_key(one, question="q", golden=["g"], answer="a"),
        verdict_key(one, question="q", golden="g", answer="a "),
        verdict_key(one, question="q", golden="ga", answer=""),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == verdict_key(one, question="q", golden="g", answer="a")


def test_a_store_that_fails_is_not_taken_for_a_judge_that_fails():
    class Broken(MemoryVerdicts):
        def get(self, key):
            raise StorageFailed(f"the disk with `{key}` is gone")

    with (
        OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint,
        open_scorer(llm_judge(endpoint), verdicts=Broken()) as scorer,
        pytest.raises(StorageFailed, match="is gone"),
    ):
        list(scorer.score([item()]))
    assert endpoint.requests == []
