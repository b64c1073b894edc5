"""Five hundred questions, an endpoint that misbehaves in every way at once, and a kill in the middle."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter

from bench_assets.storage.objects import LocalStore
from tests.fakes.openai_endpoint import OpenAIEndpoint, Reply, completion, error, says, verdict

QUESTIONS = 500
IN_FLIGHT = 16
GOOD = completion(json.dumps({"reason": "because", "label": "correct"}))

PASSING = [
    error(429, headers={"Retry-After": "0.02"}),
    error(500),
    error(503, headers={"Retry-After": "0.02"}),
    says("let me think"),
    says(None),
    Reply(body=GOOD, cut=40),
    Reply(body=GOOD, cut=0),
    Reply(body=b"<html>busy</html>"),
    Reply(body=GOOD, delay=30),
    says('{"label": "correct"', finish_reason="length"),
]
"""What the endpoint does once, before it judges."""

LASTING = {
    0: (error(413, "too large"), "http_413"),
    1: (says("", finish_reason="content_filter"), "judge_empty:content_filter"),
    2: (says('{"label": "perhaps"}'), "unknown_label"),
    3: (error(502), "http_502"),
}
"""What it always does to some answers, and what the failure is called."""

CHILD = """
import json, sys
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.judging.kept.stored import StoredVerdicts
from bench_assets.judging.scorer import JudgeItem, open_scorer
from bench_assets.judging.settings import effective_judge
from bench_assets.storage.objects import LocalStore

settings = {"concurrency": int(sys.argv[4]), "timeout": 4, "retries": 1, "retry_backoff_sec": 0.01}
spec = JudgeSpec(type="llm", model="m", base_url=sys.argv[2], **settings)
judge = effective_judge(spec, environ={"OPENAI_API_KEY": "k"})
items = [JudgeItem(execution_id=str(n), question="q", golden="g", answer=str(n)) for n in range(int(sys.argv[3]))]
with StoredVerdicts(LocalStore(sys.argv[1])) as kept, open_scorer(judge, verdicts=kept) as scorer:
    for item, found in scorer.score(items):
        print(json.dumps([item.answer, found.label, found.cached, found.error and found.error.code]), flush=True)
"""


def lasting(number):
    return LASTING.get(number // 25 % 8) if number % 25 == 7 else None


def expected(number):
    bad = lasting(number)
    return [None, bad[1]] if bad else ["correct" if number % 3 else "incorrect", None]


def test_every_verdict_is_right_every_failure_named_nothing_asked_twice_and_nothing_lost_in_a_kill(tmp_path):
    asked, judged, lock = Counter(), Counter(), threading.Lock()

    def answer(request):
        number = int(request.judged["answer"])
        with lock:
            asked[number] += 1
            first = asked[number] == 1
        if lasting(number):
            return lasting(number)[0]
        if first and number % 2:
            return PASSING[number // 2 % len(PASSING)]
        with lock:
            judged[number] += 1
        return verdict("correct" if number % 3 else "incorrect", delay=0.01)

    with OpenAIEndpoint(answer=answer) as endpoint:
        command = [sys.executable, "-c", CHILD, str(LocalStore(tmp_path).root), endpoint.base_url]
        command += [str(QUESTIONS), str(IN_FLIGHT)]
        told = []
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            for line in child.stdout:
                told.append(json.loads(line))
                if len(told) == 200:
                    child.send_signal(signal.SIGKILL)
                    break
            child.wait(timeout=20)
        assert len(told) == 200
        before = Counter(judged)
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=150, check=True, env=dict(os.environ))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [[int(text), label, code] for text, label, _, code in found] == [
        [number, *expected(number)] for number in range(QUESTIONS)
    ]
    assert told == [[text, label, False, code] for text, label, _, code in found[:200]]
    # What was told before the kill is found again; only what was in flight in that moment is judged a second time.
    assert all(cached for _, label, cached, _ in found[:200] if label)
    assert max(judged.values()) <= 2
    assert sum(count == 2 for count in judged.values()) <= 2 * IN_FLIGHT
    assert sum(before.values()) >= 200 * 0.9
