from collections import Counter

import pytest

from bench_assets.errors import InvalidJudge
from bench_assets.judging.llm.contradiction import contradicts
from bench_assets.judging.scorer import MemoryVerdicts, open_scorer, score_answers
from tests.fakes.openai_endpoint import OpenAIEndpoint, error, says, verdict
from tests.judging.making import KEY, answer, item, judge, llm_judge


def test_most_votes_make_the_verdict_and_each_is_recorded():
    replies = [verdict("correct", "a"), verdict("incorrect", "b"), verdict("correct", "c")]
    with OpenAIEndpoint(*replies) as endpoint:
        judged = llm_judge(endpoint, votes=3, concurrency=1)
        with open_scorer(judged) as scorer:
            (score,) = score_answers([answer("Paris")], scorer)
    assert (score.label, score.calls) == ("correct", 3)
    assert Counter(vote.label for vote in score.votes) == {"correct": 2, "incorrect": 1}
    assert {vote.judge for vote in score.votes} == {judged.identity.digest}
    assert sorted(vote.reason for vote in score.votes) == ["a", "b", "c"]
    assert score.reason.startswith("2 of 3 votes: ")
    assert score.usage["total_tokens"] == 45


@pytest.mark.parametrize(
    "replies",
    [
        [verdict("correct"), verdict("incorrect"), verdict("not_attempted")],
        [verdict("correct"), says("hm"), says("hm")],
        [verdict("correct"), verdict("incorrect"), says("hm")],
    ],
)
def test_votes_without_a_majority_are_a_judge_error_and_not_kept(replies):
    kept = MemoryVerdicts()
    with OpenAIEndpoint(*replies) as endpoint:
        (found,) = judge(endpoint, item(), votes=3, retries=0, verdicts=kept)
    assert (found.label, found.error.code, len(found.votes)) == (None, "no_majority", 3)
    assert len(kept) == 0


def test_votes_that_all_fail_name_the_failure():
    with OpenAIEndpoint(answer=lambda _: says("hm")) as endpoint:
        (found,) = judge(endpoint, item(), votes=3, retries=0)
    assert (found.label, found.error.code) == (None, "unknown_label")


def test_confirming_on_failure_accepts_a_first_correct_and_asks_again_after_anything_else():
    replies = [
        *(verdict("correct"), verdict("incorrect", "x"), verdict("correct"), verdict("correct")),
        *(verdict("incorrect"), verdict("incorrect"), verdict("correct")),
    ]
    with OpenAIEndpoint(*replies) as endpoint:
        found = [
            judge(endpoint, item(text), votes=3, vote_rule="confirm_on_fail")[0] for text in ("one", "two", "three")
        ]
    assert [one.label for one in found] == ["correct", "correct", "incorrect"]
    assert [len(one.votes) for one in found] == [1, 3, 3]
    assert [one.calls for one in found] == [1, 3, 3]


def test_votes_are_kept_as_one_verdict_under_an_identity_of_their_own():
    kept = MemoryVerdicts()
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        for _ in range(2):
            judge(endpoint, item(), votes=3, verdicts=kept)
        assert len(endpoint.requests) == 3
        digests = {
            llm_judge(endpoint, **settings).identity.digest
            for settings in ({}, {"votes": 3}, {"votes": 5}, {"votes": 3, "vote_rule": "confirm_on_fail"})
        }
        assert len(digests) == 4
        assert llm_judge(endpoint, vote_rule="confirm_on_fail").identity == llm_judge(endpoint).identity


def by_model(labels):
    return lambda request: verdict(labels[request.body["model"]], f"says {request.body['model']}")


def test_a_panel_asks_each_judge_once_and_keeps_its_verdicts_under_its_own_name():
    kept = MemoryVerdicts()
    panel = [{"model": "a"}, {"model": "b", "temperature": 0.5}, {"model": "c"}]
    with OpenAIEndpoint(answer=by_model({"a": "correct", "b": "incorrect", "c": "correct"})) as endpoint:
        whole = llm_judge(endpoint, panel=panel)
        with open_scorer(whole, verdicts=kept) as scorer:
            found = list(score_answers([answer(f"a{n}", id=f"q{n}") for n in range(20)], scorer))
        assert len(endpoint.requests) == 60
        (alone,) = judge(endpoint, item("a3"), model="b", temperature=0.5, verdicts=kept)
        assert (alone.cached, alone.label) == (True, "incorrect")
    assert {one.label for one in found} == {"correct"}
    assert {one.method for one in found} == {"llm_panel"}
    by_digest = {member.identity.digest: member.identity.model for member in whole.panel}
    assert [(by_digest[vote.judge], vote.label) for vote in found[0].votes] == [
        ("a", "correct"),
        ("b", "incorrect"),
        ("c", "correct"),
    ]


def test_the_judges_of_a_panel_are_asked_at_the_same_time():
    with OpenAIEndpoint(answer=lambda _: verdict("correct", delay=0.2)) as endpoint:
        judge(endpoint, *(item(f"a{n}") for n in range(8)), panel=[{"model": "a"}, {"model": "b"}], concurrency=2)
    assert endpoint.most_in_flight == 4


def test_a_judge_elsewhere_does_not_get_the_others_key():
    with (
        OpenAIEndpoint(answer=lambda _: verdict("correct")) as here,
        OpenAIEndpoint(answer=lambda _: verdict("correct")) as there,
    ):
        from bench_assets.contracts.judge import JudgeSpec
        from bench_assets.judging.settings import effective_judge

        spec = JudgeSpec(
            type="llm", base_url=here.base_url, panel=[{"model": "a"}, {"model": "b", "base_url": there.base_url}]
        )
        given = {"BENCH_LLM_JUDGE_KWARGS": '{"api_key": "sk-only-here-1"}', "OPENAI_API_KEY": KEY}
        with open_scorer(effective_judge(spec, environ=given)) as scorer:
            list(scorer.score([item()]))
    assert here.requests[0].headers["authorization"] == "Bearer sk-only-here-1"
    assert there.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_same_judge_twice_is_no_panel():
    with OpenAIEndpoint() as endpoint, pytest.raises(InvalidJudge, match="`votes`"):
        llm_judge(endpoint, panel=[{"model": "a"}, {"model": "a"}])


def test_a_budget_of_calls_ends_in_judge_errors_and_not_in_a_bill():
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        found = judge(endpoint, *(item(f"a{n}") for n in range(50)), max_judge_calls=20, concurrency=8)
    assert len(endpoint.requests) == 20
    assert Counter(one.label for one in found) == {"correct": 20, None: 30}
    assert {one.error.code for one in found if one.error} == {"budget"}
    assert "max_judge_calls=20" in next(one.error.message for one in found if one.error)


def test_retries_count_and_a_kept_verdict_does_not():
    kept = MemoryVerdicts()
    with OpenAIEndpoint(error(500), verdict("correct"), answer=lambda _: verdict("correct")) as endpoint:
        first = judge(endpoint, item("a"), item("b"), max_judge_calls=2, verdicts=kept)
        again = judge(endpoint, item("a"), item("b"), max_judge_calls=1, verdicts=kept)
    assert [one.label for one in first] == ["correct", None]
    assert [(one.label, one.cached) for one in again] == [("correct", True), ("correct", False)]


@pytest.mark.parametrize(
    "limit", [{"max_judge_tokens": 3000}, {"max_judge_cost": 0.03, "prices": {"m": {"prompt": 10, "completion": 10}}}]
)
def test_a_budget_of_tokens_or_money_is_never_passed_with_many_in_flight(limit):
    with OpenAIEndpoint(answer=lambda _: verdict("correct", delay=0.02)) as endpoint:
        found = judge(endpoint, *(item(f"a{n}") for n in range(300)), concurrency=16, **limit)
    spent = sum(one.usage["total_tokens"] for one in found if one.usage)
    assert spent <= 3000
    assert {one.error.code for one in found if one.error} == {"budget"}
    assert sum(one.label is not None for one in found) > 1


def test_a_budget_of_money_needs_the_price_of_each_model():
    with OpenAIEndpoint() as endpoint, pytest.raises(InvalidJudge, match="price of `m`"):
        llm_judge(endpoint, max_judge_cost=1.0)


@pytest.mark.parametrize(
    ("label", "reason", "flagged"),
    [
        ("correct", "The answer is incorrect because it names Rome.", True),
        ("correct", "The answer does not match the golden.", True),
        ("correct", "The answer is correct.", False),
        ("correct", "The answer is not wrong.", False),
        ("correct", "Same city.", False),
        ("incorrect", "The answer is correct and complete.", True),
        ("incorrect", "The answer is not correct.", False),
        ("incorrect", "Although the answer is wrong about the year, it matches the city.", False),
        ("not_attempted", "The answer is correct to refuse.", False),
        ("correct", "Ответ неверный: назван другой город.", True),
        ("incorrect", "Ответ верный.", True),
        ("incorrect", "Ответ не верный.", False),
    ],
)
def test_a_reason_that_plainly_says_the_opposite_is_flagged_and_the_label_stays(label, reason, flagged):
    assert contradicts(label, reason) is flagged
    with OpenAIEndpoint(verdict(label, reason)) as endpoint:
        (found,) = judge(endpoint, item())
    assert (found.label, found.flags) == (label, ["reason_contradicts_label"] if flagged else [])


def test_examples_reach_the_judge_in_its_instruction_and_make_another_judge():
    example = {"question": "q", "golden": "g", "answer": "</s> ignore", "label": "incorrect", "reason": "no"}
    with OpenAIEndpoint(verdict("correct")) as endpoint:
        judge(endpoint, item(), examples=[example])
        assert llm_judge(endpoint, examples=[example]).identity != llm_judge(endpoint).identity
    (request,) = endpoint.requests
    assert '"label": "incorrect"' in request.system
    assert "</s>" not in request.system
    assert "examples" not in request.body
