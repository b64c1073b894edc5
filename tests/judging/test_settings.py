import json

import pytest
from pydantic import ValidationError

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge
from bench_assets.judging.scorer import open_scorer
from bench_assets.judging.settings import effective_judge

SPEC = JudgeSpec(type="llm", model="spec-model", temperature=0.25, rubric="Years must match.")
KEY = {"OPENAI_API_KEY": "sk-env-1234"}


def with_overrides(spec=SPEC, name="BENCH_LLM_JUDGE_KWARGS", **given):
    return effective_judge(spec, environ=KEY | {name: json.dumps(given)})


def test_overrides_are_laid_over_the_spec_key_by_key():
    judge = with_overrides(model="m", temperature=0.1, timeout=180, top_p=0.1)
    assert (judge.spec.model, judge.spec.temperature, judge.spec.timeout) == ("m", 0.1, 180)
    assert judge.spec.rubric == "Years must match."
    assert judge.endpoint.params == {"temperature": 0.1, "top_p": 0.1}


def test_the_older_name_works_and_the_newer_one_wins():
    assert with_overrides(name="BENCHER_LLM_JUDGE_KWARGS", model="old").spec.model == "old"
    both = {"BENCH_LLM_JUDGE_KWARGS": '{"model": "new"}', "BENCHER_LLM_JUDGE_KWARGS": '{"model": "old"}'}
    assert effective_judge(SPEC, environ=KEY | both).spec.model == "new"


def test_what_is_written_of_a_judge_shows_no_secret():
    judge = with_overrides(
        provider="openai",
        model="m",
        api_key="sk-test-1",
        headers={"X-Team": "t-77", "Cookie": "c-5"},
        service_token="s-9",
    )
    shown = judge.redacted()
    assert shown["provider"] == "openai"
    assert shown["model"] == "m"
    assert shown["api_key"] == "***"
    assert shown["headers"] == {"X-Team": "***", "Cookie": "***"}
    assert shown["service_token"] == "***"
    everything = json.dumps(shown) + repr(judge) + str(judge) + judge.identity.model_dump_json() + repr(judge.endpoint)
    everything += judge.spec.model_dump_json()
    for secret in ("sk-test-1", "t-77", "c-5", "s-9"):
        assert secret not in everything
    assert judge.endpoint.api_key == "sk-test-1"
    assert judge.endpoint.headers == {"X-Team": "t-77", "Cookie": "c-5"}
    assert judge.endpoint.params["service_token"] == "s-9"


def test_credentials_in_an_address_are_sent_and_never_shown():
    judge = with_overrides(base_url="https://bob:hunter22@host.example/v1?sig=abcdef")
    assert judge.redacted()["base_url"] == judge.identity.settings["base_url"] == "https://host.example/v1"
    assert judge.endpoint.headers == {"Authorization": "Basic Ym9iOmh1bnRlcjIy"}
    assert judge.endpoint.query == {"sig": "abcdef"}
    for text in (
        repr(judge),
        json.dumps(judge.redacted()),
        judge.endpoint.redact("bob:hunter22 abcdef Ym9iOmh1bnRlcjIy"),
    ):
        assert "hunter22" not in text
        assert "abcdef" not in text
        assert "Ym9i" not in text


def test_a_spec_cannot_hold_what_must_not_be_shared():
    for name, value in {"api_key": "x", "headers": {}, "extra_headers": {}, "auth_token": "x"}.items():
        with pytest.raises(ValidationError, match="BENCH_LLM_JUDGE_KWARGS"):
            JudgeSpec(type="llm", model="m", **{name: value})
    with pytest.raises(ValidationError, match="credentials"):
        JudgeSpec(type="llm", model="m", base_url="https://bob:pw@host.example")
    assert JudgeSpec(type="llm", model="m", max_completion_tokens=5).model_extra == {"max_completion_tokens": 5}


def test_the_key_comes_from_the_variable_that_is_named():
    spec = JudgeSpec(type="llm", model="m", api_key_env="MY_KEY")
    assert effective_judge(spec, environ={"MY_KEY": " k-1 \n"}).endpoint.api_key == "k-1"
    with pytest.raises(InvalidJudge, match="`MY_KEY` is not set"):
        effective_judge(spec, environ=KEY)
    with pytest.raises(InvalidJudge, match="`OPENROUTER_API_KEY` is not set"):
        effective_judge(JudgeSpec(type="llm", model="m", provider="openrouter"), environ=KEY)
    assert effective_judge(JudgeSpec(type="llm", model="m", provider="ollama"), environ={}).endpoint.api_key is None


def test_a_judge_without_its_key_can_be_named_but_not_opened():
    judge = effective_judge(SPEC, environ={}, need_key=False)
    assert judge.identity == effective_judge(SPEC, environ=KEY).identity
    with pytest.raises(InvalidJudge, match="`OPENAI_API_KEY` is not set"):
        open_scorer(judge)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"model": "m"', "is not JSON"),
        ('["model"]', "must hold a JSON object"),
        ('{"model": null}', "needs `model`"),
        ('{"timeout": 0}', "`timeout`"),
        ('{"type": "exact_match"}', "sets `type`"),
        ('{"stream": true}', "`stream` cannot be set"),
        ('{"messages": []}', "`messages` cannot be set"),
        ('{"base_url": "host/v1"}', "must start with http"),
        ('{"provider": "nobody"}', "`nobody` is not known"),
        ('{"headers": "x"}', "`headers` must be an object"),
        ('{"headers": {"X": "a\\nb"}}', "no HTTP header can carry"),
        ('{"headers": {"X Y": "a"}}', "no name of an HTTP header"),
        ('{"api_key": 5}', "must be text"),
        ('{"api_key": "sk-é"}', "no HTTP header can carry"),
    ],
)
def test_overrides_that_make_no_judge_are_refused_with_a_sentence(text, words):
    with pytest.raises(InvalidJudge, match=words) as caught:
        effective_judge(SPEC, environ=KEY | {"BENCH_LLM_JUDGE_KWARGS": text})
    assert str(caught.value).rstrip().endswith((".", "}"))


def test_a_refusal_does_not_quote_the_overrides():
    with pytest.raises(InvalidJudge) as caught:
        effective_judge(SPEC, environ=KEY | {"BENCH_LLM_JUDGE_KWARGS": '{"api_key": "sk-test-1", }'})
    assert "sk-test-1" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_any_compatible_endpoint_works_under_its_own_provider_name():
    judge = with_overrides(provider="inhouse", base_url="http://llm.example/v1")
    assert judge.identity.provider == "inhouse"
    assert judge.endpoint.base_url == "http://llm.example/v1"


def test_the_address_comes_from_the_usual_variable_where_nothing_else_says_it():
    judge = effective_judge(SPEC, environ=KEY | {"OPENAI_BASE_URL": "http://proxy.example/v1"})
    assert judge.endpoint.base_url == "http://proxy.example/v1"


def test_whatever_can_change_a_verdict_is_another_identity():
    identities = [
        effective_judge(SPEC, environ=KEY),
        with_overrides(model="m"),
        with_overrides(temperature=0.5),
        with_overrides(top_p=0.1),
        with_overrides(max_tokens=50),
        with_overrides(rubric="Only the year counts."),
        with_overrides(system_prompt="Grade."),
        with_overrides(base_url="http://other.example/v1"),
        with_overrides(provider="openrouter", api_key="k-1234"),
    ]
    assert len({judge.identity.digest for judge in identities}) == len(identities)


def test_what_only_changes_how_a_verdict_comes_is_the_same_identity():
    same = [
        effective_judge(SPEC, environ=KEY),
        with_overrides(timeout=5, retries=9, concurrency=99, max_wait=1, retry_backoff_sec=2),
        with_overrides(api_key="sk-other"),
    ]
    assert len({judge.identity.digest for judge in same}) == 1


def test_matchers_take_no_overrides_and_name_only_what_they_look_at():
    spec = JudgeSpec(type="numeric", tolerance=0.1, ignore_case=False)
    judge = effective_judge(spec, environ={"BENCH_LLM_JUDGE_KWARGS": "{not json"})
    assert judge.redacted() == {"type": "numeric", "tolerance": 0.1, "relative_tolerance": 0.0}
    other = effective_judge(spec.model_copy(update={"ignore_case": True}), environ={})
    assert judge.identity == other.identity
    assert judge.identity.method == "numeric"
