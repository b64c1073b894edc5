import os
import time

import pytest
from pydantic import ValidationError

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge
from bench_assets.judging.functions import FunctionCaller, FunctionFailed, find_function
from bench_assets.judging.scorer import open_scorer, score_answers
from bench_assets.judging.settings import effective_judge
from bench_assets.judging.token_f1 import f1
from tests.fakes.openai_endpoint import OpenAIEndpoint, verdict
from tests.judging.making import KEY, answer, item, llm_judge


def scored(spec, *items, folder=None):
    with open_scorer(effective_judge(JudgeSpec(**spec), environ={}, folder=folder)) as scorer:
        return [verdict for _, verdict in scorer.score(items)]


@pytest.mark.parametrize(
    ("golden", "said", "expected"),
    [
        ("Paris", "paris.", 1.0),
        ("the Eiffel Tower", "An Eiffel tower!", 1.0),
        ("in the city of Paris", "Paris", 0.4),
        ("Paris", "Paris, the capital of France", 2 / 5),
        ("a b c", "c c d", 0.4),
        ("Paris Paris", "Paris", 2 / 3),
        ("Paris", "Rome", 0.0),
        ("the", "a", 1.0),
        ("the", "Rome", 0.0),
        ("Москва", "москва", 1.0),
    ],
)
def test_f1_is_that_of_the_shared_words(golden, said, expected):
    assert f1(golden, said) == pytest.approx(expected)


def test_token_f1_takes_the_best_golden_and_its_threshold_decides():
    asked = item("Paris, the capital of France", golden=["Rome", "Paris"])
    loose, strict = scored({"type": "token_f1", "threshold": 0.4}, asked)[0], scored({"type": "token_f1"}, asked)[0]
    assert (loose.label, strict.label) == ("correct", "incorrect")
    assert strict.reason == "F1 is 0.40 with `Paris`; 0.5 is needed."


RULES = """\
import sys

def judge(*, question, golden, answer):
    print("chatter that must not reach the protocol")
    if answer == "boom":
        raise ValueError("no such unit")
    if answer == "odd":
        return "maybe"
    if answer == "unsure":
        return None
    if answer == "die":
        import os
        os._exit(3)
    if answer == "hang":
        while True: pass
    if answer == "pass":
        return "not_attempted", "it passed"
    return answer.startswith(golden)
"""


def test_a_function_of_ones_own_labels_and_its_failures_are_named(tmp_path):
    (tmp_path / "rules.py").write_text(RULES)
    texts = ["Paris!", "Rome", "pass", "boom", "odd", "unsure", "die", "Paris"]
    found = scored({"type": "python", "function": "rules:judge"}, *map(item, texts), folder=tmp_path)
    assert [one.label for one in found] == [
        *("correct", "incorrect", "not_attempted", None, None, None, None, "correct"),
    ]
    assert [one.error and one.error.code for one in found[3:7]] == [
        *("matcher_error", "matcher_error", "undecided", "matcher_error"),
    ]
    assert "ValueError: no such unit" in found[3].error.message
    assert "'maybe'" in found[4].error.message
    assert found[2].reason == "it passed"


def test_a_function_that_hangs_is_ended_and_the_next_answer_is_judged(tmp_path):
    (tmp_path / "rules.py").write_text(RULES)
    caller = FunctionCaller(find_function("rules:judge", folder=tmp_path), seconds=3.0)
    try:
        began = time.monotonic()
        with pytest.raises(FunctionFailed, match="more than 3 s"):
            caller.call(question="q", golden="Paris", answer="hang")
        assert time.monotonic() - began < 15
        assert caller.call(question="q", golden="Paris", answer="Paris") == ("correct", "")
    finally:
        caller.close()


def test_a_function_sees_no_variable_of_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "rules.py").write_text(
        "import os\ndef judge(question, golden, answer):\n    return False, ' '.join(os.environ)\n"
    )
    (found,) = scored({"type": "python", "function": "rules:judge"}, item(), folder=tmp_path)
    assert "OPENAI" not in found.reason
    assert os.environ["OPENAI_API_KEY"] == KEY


def test_another_text_of_the_function_is_another_matcher(tmp_path):
    spec = JudgeSpec(type="python", function="rules:judge")
    digests = []
    for source in ("def judge(**_): return True\n", "def judge(**_): return False\n"):
        (tmp_path / "rules.py").write_text(source)
        digests.append(effective_judge(spec, environ={}, folder=tmp_path).identity.digest)
    assert digests[0] != digests[1]


def test_a_function_that_is_not_there_is_refused_before_anything_is_judged(tmp_path):
    with pytest.raises(InvalidJudge, match="no module `no_such_rules`"):
        effective_judge(JudgeSpec(type="python", function="no_such_rules:judge"), environ={}, folder=tmp_path)


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "python"},
        {"type": "exact_match", "function": "a:b"},
        {"type": "python", "function": "no colon"},
        {"type": "llm", "model": "m", "not_attempted": ["x"]},
        {"type": "token_f1", "threshold": 0},
        {"type": "exact_match", "first": [{"type": "llm", "model": "m"}]},
        {"type": "exact_match", "first": [{"type": "contains", "settles": []}]},
        {"type": "llm", "model": "m", "panel": [{"model": "a"}]},
        {"type": "llm", "model": "m", "panel": [{"model": "a"}, {"model": "b", "api_key": "sk-1"}]},
        {"type": "llm", "model": "m", "panel": [{"model": "a"}, {"model": "b"}], "votes": 3},
    ],
)
def test_settings_that_make_no_judge_are_refused(spec):
    with pytest.raises(ValidationError):
        JudgeSpec(**spec)


def test_refusals_in_words_are_not_attempted_where_the_benchmark_says_how_they_read():
    spec = {"type": "contains", "not_attempted": ["^i (do not|don't) know", "не знаю"]}
    texts = ["I don't know.", "Извините, не знаю", "Rome", "I do not know, perhaps Paris", "[]"]
    found = scored(spec, *map(item, texts))
    assert [one.label for one in found] == [
        *("not_attempted", "not_attempted", "incorrect", "correct", "not_attempted"),
    ]
    assert found[0].reason == "The answer does not try: `I don't know`."
    assert [one.label for one in scored({"type": "contains"}, item("I don't know."))] == ["incorrect"]


def test_a_bad_expression_for_refusals_is_refused():
    with pytest.raises(InvalidJudge, match="not_attempted"):
        effective_judge(JudgeSpec(type="contains", not_attempted=["("]), environ={})


def test_a_chain_asks_the_judge_only_for_what_its_matchers_do_not_settle():
    first = [{"type": "exact_match"}, {"type": "contains", "settles": ["not_attempted"], "not_attempted": ["^no idea"]}]
    with OpenAIEndpoint(answer=lambda _: verdict("correct", "the judge says so")) as endpoint:
        chain = llm_judge(endpoint, first=first)
        with open_scorer(chain) as scorer:
            texts = ["Paris", "The city of light", "no idea", "", "Paris.", "Lutetia"]
            found = list(score_answers([answer(text, id=f"q{n}") for n, text in enumerate(texts)], scorer))
    assert [(one.id, one.label, one.method) for one in found] == [
        ("q0", "correct", "exact_match"),
        ("q1", "correct", "llm_judge"),
        ("q2", "not_attempted", "contains"),
        ("q3", "not_attempted", "llm_judge"),
        ("q4", "correct", "exact_match"),
        ("q5", "correct", "llm_judge"),
    ]
    assert [request.judged["answer"] for request in endpoint.requests] == ["The city of light", "Lutetia"]
    assert {one.judge for one in found} == {chain.identity.digest}


def test_a_chain_is_another_judge_but_shares_the_verdicts_of_the_model_behind_it():
    with OpenAIEndpoint() as endpoint:
        alone, chain = llm_judge(endpoint), llm_judge(endpoint, first=[{"type": "exact_match"}])
        other = llm_judge(endpoint, first=[{"type": "exact_match", "ignore_case": False}])
    assert len({alone.identity.digest, chain.identity.digest, other.identity.digest}) == 3
    assert alone.own == chain.own == other.own


def test_an_override_can_put_a_matcher_before_the_judge():
    spec = JudgeSpec(type="llm", model="m")
    given = '{"first": [{"type": "exact_match"}]}'
    judge = effective_judge(spec, environ={"OPENAI_API_KEY": KEY, "BENCH_LLM_JUDGE_KWARGS": given})
    assert [step.identity.method for step in judge.steps] == ["exact_match"]
    assert judge.redacted()["first"] == [{"type": "exact_match"}]


def test_a_chain_of_matchers_needs_no_model():
    spec = {"type": "token_f1", "first": [{"type": "exact_match"}]}
    found = scored(spec, item("Paris"), item("Paris France"), item("Rome"))
    assert [(one.label, one.method) for one in found] == [
        ("correct", "exact_match"),
        ("correct", None),
        ("incorrect", None),
    ]
