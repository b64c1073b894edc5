"""Verdicts in the results' store: a folder and a real S3 endpoint."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from bench_assets.contracts.score import Verdict
from bench_assets.errors import StorageFailed
from bench_assets.judging.identity import verdict_key
from bench_assets.judging.kept import stored
from bench_assets.judging.kept.stored import StoredVerdicts
from bench_assets.judging.scorer import open_scorer, score_answers
from bench_assets.storage.objects import LocalStore, S3Store
from tests.fakes.openai_endpoint import OpenAIEndpoint, verdict
from tests.judging.making import answer, item, judge, llm_judge


@pytest.fixture
def folder(tmp_path):
    return LocalStore(tmp_path / "store")


class Counting:
    """A store that counts what it is asked, over another one."""

    def __init__(self, store):
        self.store = store
        self.calls = Counter()

    def __getattr__(self, name):
        def counted(*arguments):
            self.calls[name] += 1
            return getattr(self.store, name)(*arguments)

        return counted


def key(n, name="j"):
    return f"{name}/{n:064x}"


def put(store, *verdicts):
    with StoredVerdicts(store) as kept:
        for future in [kept.put(where, Verdict(label=label)) for where, label in verdicts]:
            future.result(timeout=20)


def test_a_verdict_is_found_by_the_next_process(folder):
    with OpenAIEndpoint(verdict("correct", "the same city")) as endpoint:
        for cached in (False, True):
            with StoredVerdicts(folder) as kept:
                (found,) = judge(endpoint, item(), verdicts=kept)
            assert (found.label, found.reason, found.cached) == ("correct", "the same city", cached)
    assert len(endpoint.requests) == 1


def test_the_same_holds_on_s3_with_few_requests_a_verdict(s3_endpoint):
    s3 = Counting(S3Store(s3_endpoint.client(), bucket=s3_endpoint.bucket, prefix=s3_endpoint.new_prefix()))
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        answers = [item(f"a{n}") for n in range(300)]
        with StoredVerdicts(s3) as kept:
            judge(endpoint, *answers, verdicts=kept, concurrency=32)
        first, s3.calls = s3.calls.total(), Counter()
        with StoredVerdicts(s3) as kept:
            again = judge(endpoint, *answers, verdicts=kept, concurrency=32)
    assert len(endpoint.requests) == 300
    assert all(one.cached for one in again)
    assert first < 300
    assert s3.calls.total() <= 1 + stored.MANY + 1


def test_a_verdict_is_told_only_when_it_is_durable(folder):
    class Slow:
        def __init__(self):
            self.done = threading.Event()

        def __getattr__(self, name):
            return getattr(folder, name)

        def write(self, where, data):
            assert self.done.wait(20)
            folder.write(where, data)

    slow = Slow()
    with StoredVerdicts(slow) as kept:
        future = kept.put(key(1), Verdict(label="correct"))
        assert not future.done()
        assert list(folder.list("verdicts/")) == []
        slow.done.set()
        future.result(timeout=20)
        assert len(list(folder.list("verdicts/"))) == 1


def test_what_is_put_while_a_write_is_under_way_goes_out_together(folder):
    many = Counting(folder)
    put(many, *((key(n), "correct") for n in range(2000)))
    assert many.calls["write"] < 200
    with StoredVerdicts(folder) as kept:
        assert all(kept.get(key(n)) for n in range(2000))


def test_small_segments_are_merged_and_nothing_is_lost(folder, monkeypatch):
    monkeypatch.setattr(stored, "MOST", 5)
    for n in range(12):
        with StoredVerdicts(folder) as kept:
            kept.put(key(2 * n), Verdict(label="correct")).result(timeout=20)
            kept.put(key(2 * n + 1), Verdict(label="incorrect")).result(timeout=20)
    assert len(list(folder.list("verdicts/"))) <= stored.MANY + 1
    with StoredVerdicts(folder) as kept:
        assert [kept.get(key(n)).label for n in range(24)] == ["correct", "incorrect"] * 12


def test_two_processes_that_judge_the_same_agree_afterwards(folder):
    with StoredVerdicts(folder) as one, StoredVerdicts(folder) as other:
        assert one.get(key(1)) is None
        assert other.get(key(1)) is None
        one.put(key(1), Verdict(label="correct")).result(timeout=20)
        other.put(key(1), Verdict(label="incorrect")).result(timeout=20)
    for _ in range(2):
        with StoredVerdicts(folder) as kept:
            assert kept.get(key(1)).label == "correct"


def test_a_reader_survives_a_merge_under_its_hands(folder):
    put(folder, (key(1), "correct"))
    put(folder, (key(2), "incorrect"))

    class Merging:
        merged = False

        def __getattr__(self, name):
            return getattr(folder, name)

        def list(self, prefix=""):
            found = list(folder.list(prefix))
            if not self.merged:
                self.merged = True
                with StoredVerdicts(folder) as other:
                    other.get(key(1))
                    other._judges["j"].segments.merge(found)
            return iter(found)

    with StoredVerdicts(Merging()) as kept:
        assert (kept.get(key(1)).label, kept.get(key(2)).label) == ("correct", "incorrect")


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line.replace(b'"correct"', b'"incorrect"'),
        lambda line: line[: len(line) // 2],
        lambda line: b"\x00\xff" + line,
        lambda _: b"{}",
        lambda _: b"[" * 10_000,
    ],
)
def test_a_damaged_verdict_is_ignored_with_a_warning(folder, damage, caplog):
    put(folder, (key(1), "correct"), (key(2), "correct"))
    segment = next(folder.list("verdicts/"))
    first, *rest = folder.read(segment).split(b"\n")
    folder.write(segment, b"\n".join([damage(first), *rest]))
    with caplog.at_level(logging.WARNING), StoredVerdicts(folder) as kept:
        found = [kept.get(key(1)), kept.get(key(2))]
    assert [one and one.label for one in found].count("correct") == 1
    assert found.count(None) == 1
    assert "1 kept verdicts" in caplog.text
    assert segment in caplog.text


def test_a_verdict_that_cannot_be_kept_stops_the_judging(tmp_path):
    blocked = tmp_path / "verdicts"
    blocked.write_text("a file where the folder should be")
    with (
        OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint,
        StoredVerdicts(LocalStore(tmp_path)) as kept,
        pytest.raises(StorageFailed, match="verdicts"),
    ):
        judge(endpoint, *(item(f"a{n}") for n in range(300)), verdicts=kept, concurrency=2)
    assert len(endpoint.requests) < 100


def test_ten_thousand_kept_verdicts_are_read_and_scored_quickly(folder):
    with OpenAIEndpoint() as endpoint:
        judged = llm_judge(endpoint)
    answers = [answer(f"answer {n}", id=f"q{n}") for n in range(10_000)]
    with StoredVerdicts(folder) as kept:
        last = None
        for one in answers:
            where = verdict_key(judged.identity, question=one.question, golden=one.golden, answer=one.answer)
            last = kept.put(where, Verdict(label="correct", reason="because " * 20, replies=["{}" * 100]))
        last.result(timeout=60)
    began = time.process_time()
    with StoredVerdicts(folder) as kept, open_scorer(judged, verdicts=kept) as scorer:
        found = list(score_answers(answers, scorer))
    assert all(score.cached and score.label == "correct" for score in found)
    assert time.process_time() - began < 5


CHILD = """
import json, sys
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.judging.kept.stored import StoredVerdicts
from bench_assets.judging.scorer import open_scorer, JudgeItem
from bench_assets.judging.settings import effective_judge
from bench_assets.storage.objects import LocalStore

settings = {"concurrency": 16, "timeout": 20, "retry_backoff_sec": 0.01}
spec = JudgeSpec(type="llm", model="m", base_url=sys.argv[2], **settings)
judge = effective_judge(spec, environ={"OPENAI_API_KEY": "k"})
items = [JudgeItem(execution_id=str(n), question="q", golden="g", answer=str(n)) for n in range(int(sys.argv[3]))]
with StoredVerdicts(LocalStore(sys.argv[1])) as kept, open_scorer(judge, verdicts=kept) as scorer:
    for item, verdict in scorer.score(items):
        print(json.dumps([item.answer, verdict.label, verdict.cached]), flush=True)
"""


def test_a_kill_in_the_middle_loses_no_verdict_that_was_told_and_repeats_only_what_was_in_flight(folder):
    answered = Counter()

    def reply(request):
        answered[request.judged["answer"]] += 1
        return verdict("correct" if int(request.judged["answer"]) % 3 else "incorrect", delay=0.02)

    with OpenAIEndpoint(answer=reply) as endpoint:
        command = [sys.executable, "-c", CHILD, str(folder.root), endpoint.base_url, "500"]
        told = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONWARNINGS": "default"}) as child:
            assert child.stdout is not None
            for line in child.stdout:
                told.append(json.loads(line))
                if len(told) == 150:
                    child.send_signal(signal.SIGKILL)
                    break
            child.wait(timeout=20)
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=100, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one[:2] for one in found] == [[str(n), "correct" if n % 3 else "incorrect"] for n in range(500)]
    assert all(cached for _, _, cached in found[:150])
    assert set(answered) == {str(n) for n in range(500)}
    twice = [one for one, count in answered.items() if count > 1]
    # In flight, or answered and on its way to the disk, in the moment of the kill.
    assert len(twice) <= 4 * 16
    assert max(answered.values()) <= 2
