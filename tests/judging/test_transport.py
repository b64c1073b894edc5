"""The LLM judge against an endpoint that misbehaves."""

import json
import logging
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from time import monotonic

import pytest

from bench_assets.errors import JudgeFailed
from bench_assets.judging.llm.pausing import retry_after
from bench_assets.judging.scorer import MemoryVerdicts, open_scorer
from tests.fakes.openai_endpoint import OpenAIEndpoint, Reply, completion, error, says, verdict
from tests.judging.making import KEY, item, judge, llm_judge


def waits(endpoint):
    times = [request.at for request in endpoint.requests]
    return [later - earlier for earlier, later in pairwise(times)]


def test_both_forms_of_retry_after_are_waited_for():
    def until(_):
        return error(
            429, headers={"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=2.99), usegmt=True)}
        )

    with OpenAIEndpoint(error(429, headers={"Retry-After": "1"}), until, verdict("correct")) as endpoint:
        (found,) = judge(endpoint, item(), retries=0)
    assert (found.label, found.calls) == ("correct", 3)
    first, second = waits(endpoint)
    assert first >= 1
    assert second >= 1.9  # a date has whole seconds, so up to one of the three is lost


def test_a_date_counts_from_the_endpoints_own_clock():
    headers = {"retry-after": "Sun, 06 Nov 1994 08:49:40 GMT", "date": "Sun, 06 Nov 1994 08:49:37 GMT"}
    assert retry_after(headers) == 3
    assert retry_after({"retry-after": "Sun, 06 Nov 1994 08:49:40 GMT"}) == 0
    now = datetime(1994, 11, 6, 8, 49, 35, tzinfo=UTC)
    assert retry_after({"retry-after": "Sun, 06 Nov 1994 08:49:40 GMT"}, now=now) == 5


@pytest.mark.parametrize("value", ["", "soon", "-5", "nan", "inf", "Sun, 99 Nov 1994", "1e999"])
def test_a_retry_after_that_makes_no_sense_is_none(value):
    assert retry_after({"retry-after": value}) is None


def test_one_answer_that_is_told_to_wait_holds_all_calls_back():
    def answer(request):
        return verdict("correct", delay=0.4)

    with OpenAIEndpoint(error(429, headers={"Retry-After": "1.5"}), answer=answer) as endpoint:
        found = judge(endpoint, *(item(f"a{n}") for n in range(8)), concurrency=2)
    assert {verdict.label for verdict in found} == {"correct"}
    assert sum(verdict.calls for verdict in found) == len(endpoint.requests) == 9
    limited = endpoint.requests[0].at
    early = [request for request in endpoint.requests[1:] if request.at < limited + 1.4]
    assert len(early) <= 1  # the one that was under way already


def test_a_wait_beyond_the_limit_ends_as_a_named_failure_and_calls_nobody_in_vain():
    with OpenAIEndpoint(error(429, headers={"Retry-After": "3600"})) as endpoint:
        began = monotonic()
        found = judge(endpoint, item("a"), item("b"), max_wait=5)
        assert monotonic() - began < 5
    assert [verdict.error.code for verdict in found] == ["http_429", "http_429"]
    assert [verdict.label for verdict in found] == [None, None]
    assert "`max_wait=5`" in found[0].error.message
    assert len(endpoint.requests) == 1


def test_being_told_to_wait_for_nothing_for_ever_ends():
    with OpenAIEndpoint(answer=lambda _: error(429, headers={"Retry-After": "0"})) as endpoint:
        (found,) = judge(endpoint, item(), max_wait=1)
    assert found.error.code == "http_429"
    assert len(endpoint.requests) < 8


def test_a_limited_endpoint_serves_everyone_in_the_end():
    taken = []

    def answer(request):
        taken.append(request)
        return error(429, headers={"Retry-After": "0.05"}) if len(taken) % 3 else verdict("correct")

    with OpenAIEndpoint(answer=answer) as endpoint:
        found = judge(endpoint, *(item(f"a{n}") for n in range(8)), concurrency=4, retries=0)
    assert [verdict.label for verdict in found] == ["correct"] * 8


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (error(500), "http_500"),
        (error(503), "http_503"),
        (error(408), "http_408"),
        (Reply(body=completion('{"label": "correct"}'), cut=20), "connection"),
        (Reply(body=completion('{"label": "correct"}'), cut=0), "connection"),
        (Reply(body=b"<html>busy</html>", headers={"Content-Type": "text/html"}), "bad_response"),
        (Reply(body=b"{not json"), "bad_response"),
        (Reply(body=b"[]"), "bad_response"),
        (Reply(body=b'{"choices": []}'), "bad_response"),
        (Reply(body=b'{"choices": [{"message": null}]}'), "bad_response"),
        (Reply(body=b'{"error": {"message": "upstream is down", "code": 502}}'), "bad_response"),
        (Reply(body=completion('{"label": "correct"}'), delay=20), "timeout"),
        (Reply(body=completion('{"label": "correct"}'), drip=0.1), "timeout"),
    ],
)
def test_trouble_of_the_moment_is_tried_again_within_the_budget(bad, code):
    timeout = 1.0 if code == "timeout" else 20
    with OpenAIEndpoint(bad, verdict("correct")) as endpoint:
        (found,) = judge(endpoint, item(), retries=1, timeout=timeout)
        assert (found.label, found.calls, found.error) == ("correct", 2, None)
    with OpenAIEndpoint(bad, bad) as endpoint:
        (found,) = judge(endpoint, item(), retries=1, timeout=timeout)
        assert (found.label, found.calls) == (None, 2)
        assert found.error.code == code
        assert len(endpoint.requests) == 2


def test_backing_off_doubles():
    with OpenAIEndpoint(error(500), error(500), error(500), verdict("correct")) as endpoint:
        judge(endpoint, item(), retry_backoff_sec=0.1)
    first, second, third = waits(endpoint)
    assert (first >= 0.1, second >= 0.2, third >= 0.4) == (True, True, True)


def test_a_time_limit_says_which_and_how_long():
    with OpenAIEndpoint(verdict("correct", delay=20)) as endpoint:
        (found,) = judge(endpoint, item(), retries=0, timeout=0.2)
    assert "`timeout=0.2`" in found.error.message


def test_nobody_at_the_address_is_a_named_failure():
    with OpenAIEndpoint() as endpoint:
        gone = llm_judge(endpoint, retries=1)
    with open_scorer(gone) as scorer:
        ((_, found),) = scorer.score([item()])
    assert (found.label, found.error.code, found.calls) == (None, "connection", 2)
    assert gone.endpoint.base_url in found.error.message


@pytest.mark.parametrize(
    "refusal",
    [
        error(401, f"Incorrect API key provided: {KEY}."),
        error(404, "The model `m` does not exist"),
        error(402, "Insufficient credits"),
        error(429, "You exceeded your current quota", code="insufficient_quota", type="insufficient_quota"),
    ],
)
def test_what_no_further_request_can_cure_stops_the_judge_at_once(refusal):
    with OpenAIEndpoint(answer=lambda _: refusal) as endpoint, pytest.raises(JudgeFailed) as caught:
        judge(endpoint, *(item(f"a{n}") for n in range(50)))
    assert len(endpoint.requests) == 1
    words = json.loads(refusal.body)["error"]["message"].replace(KEY, "***")
    assert words in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_request_that_is_refused_for_what_it_holds_fails_alone():
    with OpenAIEndpoint(error(413, "too long"), verdict("correct")) as endpoint:
        found = judge(endpoint, item("a" * 50_000), item("b"))
    assert [verdict.label for verdict in found] == [None, "correct"]
    assert found[0].error.code == "http_413"
    assert "too long" in found[0].error.message
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("status", [400, 422])
def test_an_endpoint_that_takes_no_schema_is_asked_without_one_from_then_on(status):
    refusal = error(status, "Unsupported parameter: response_format.type json_schema")
    with OpenAIEndpoint(refusal, answer=lambda _: verdict("correct")) as endpoint:
        found = judge(endpoint, item("a"), item("b"), retries=0)
    assert [verdict.label for verdict in found] == ["correct", "correct"]
    assert ["response_format" in request.body for request in endpoint.requests] == [True, False, False]


def test_an_endpoint_that_takes_the_schema_gets_it_with_every_request():
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        judge(endpoint, item("a"), item("b"))
    formats = [request.body["response_format"]["type"] for request in endpoint.requests]
    assert formats == ["json_schema", "json_schema"]


def test_a_response_format_of_ones_own_wins():
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        judge(endpoint, item(), response_format={"type": "json_object"})
        judge(endpoint, item(), response_format=None)
    assert endpoint.requests[0].body["response_format"] == {"type": "json_object"}
    assert "response_format" not in endpoint.requests[1].body


def test_a_request_carries_the_settings_the_key_and_the_headers():
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        judge(endpoint, item(), temperature=0.25, max_tokens=90, top_p=0.1)
        judge(endpoint, item(), temperature=None)
    first, second = endpoint.requests
    assert first.path == "/v1/chat/completions"
    assert first.headers["authorization"] == f"Bearer {KEY}"
    sent = {name: first.body[name] for name in ("model", "temperature", "max_tokens", "top_p")}
    assert sent == {"model": "m", "temperature": 0.25, "max_tokens": 90, "top_p": 0.1}
    assert set(second.body) == {"model", "messages", "response_format"}


def test_the_key_is_in_no_error_and_no_log_when_the_endpoint_echoes_it(caplog):
    caplog.set_level(logging.DEBUG)
    echo = Reply(status=422, body=json.dumps({"detail": f"bad request: Authorization: Bearer {KEY}"}).encode())
    with OpenAIEndpoint(echo, Reply(status=500, body=f"oops {KEY}".encode()), says(f"no: {KEY}")) as endpoint:
        found = judge(endpoint, item("a"), item("b"), retries=1)
    assert [verdict.error.code for verdict in found] == ["http_422", "unknown_label"]
    written = "".join(verdict.model_dump_json() for verdict in found) + caplog.text
    assert KEY not in written
    assert "***" in found[0].error.message


def test_an_endpoint_that_misbehaves_at_random_costs_no_verdict_and_no_call_too_many():
    asked = Counter()
    trouble = [
        error(500),
        error(429, headers={"Retry-After": "0.01"}),
        says("no idea"),
        says(None),
        Reply(body=completion('{"label": "correct"}'), cut=15),
        Reply(body=b"<html>"),
    ]

    def answer(request):
        number = int(request.judged["answer"])
        asked[number] += 1
        if asked[number] == 1 and number % 2:
            return trouble[number // 2 % len(trouble)]
        return verdict("correct" if number % 3 else "incorrect", f"number {number}")

    kept = MemoryVerdicts()
    with OpenAIEndpoint(answer=answer) as endpoint:
        found = judge(endpoint, *(item(f"{n}") for n in range(240)), concurrency=8, retries=1, verdicts=kept)
    assert [one.label for one in found] == ["correct" if n % 3 else "incorrect" for n in range(240)]
    assert [one.reason for one in found] == [f"number {n}" for n in range(240)]
    assert [one.calls for one in found] == [asked[n] for n in range(240)] == [1 + n % 2 for n in range(240)]
    assert len(kept) == 240


@pytest.mark.parametrize("votes", [1, 3])
def test_what_nobody_waits_for_any_more_is_not_asked(votes):
    with (
        OpenAIEndpoint(answer=lambda _: verdict("correct", delay=0.05)) as endpoint,
        open_scorer(llm_judge(endpoint, concurrency=2, votes=votes), verdicts=MemoryVerdicts()) as scorer,
    ):
        for _ in scorer.score(item(f"a{n}") for n in range(30)):
            break
        asked = len(endpoint.requests)
        again = list(scorer.score([item("another")]))
    assert again[0][1].label == "correct"
    assert len(endpoint.requests) <= asked + 3 * votes
