"""The journal in an object store."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench_assets.errors import JournalDamaged, ObjectMissing, ShardBusy, StorageFailed
from bench_assets.execution import lease as lease_module
from bench_assets.execution import object_journal
from bench_assets.execution.journal import count_records, open_journal, open_settled, read_settled
from bench_assets.storage.objects import S3Store
from tests.execution.conftest import execution, wait_for
from tests.execution.test_journal import failed, record

LEASE = "checkpoints/run/000/lease.json"
TOTAL = 20


class MemoryStore:
    """Objects in a dictionary, with failures on order."""

    def __init__(self):
        self.objects = {}
        self.lock = threading.Lock()
        self.failures = 0
        self.fail_after_writing = False
        self.creates = 0

    def read(self, key):
        try:
            return self.objects[key]
        except KeyError:
            raise ObjectMissing(f"There is no `{key}`.") from None

    def create(self, key, data):
        with self.lock:
            self.creates += 1
            if self.failures and key.endswith(".jsonl"):
                self.failures -= 1
                if self.fail_after_writing:
                    self.objects.setdefault(key, data)
                raise StorageFailed("The store is out of order.")
            return self.objects.setdefault(key, data) is data

    def write(self, key, data):
        self.objects[key] = data

    def list(self, prefix=""):
        return iter(sorted(key for key in self.objects if key.startswith(prefix)))

    def delete(self, key):
        self.objects.pop(key, None)


@pytest.fixture
def store():
    return MemoryStore()


def opened(store, *, flush_every=3, shard="000", run_id="run"):
    return open_journal(store, prefix="checkpoints", run_id=run_id, shard=shard, flush_every=flush_every)


def segments(store):
    return [key for key in store.list("checkpoints/run/000/") if key.endswith(".jsonl")]


def test_records_go_into_numbered_segments_and_come_back(store):
    with opened(store) as journal:
        for number in range(7):
            journal.append(record(f"q{number}", answer=str(number)))
        journal.append(failed("q0"))
    assert segments(store)[0] == "checkpoints/run/000/00000001.jsonl"
    assert list(store.list()) == segments(store)  # the lease is given back
    with opened(store) as journal:
        assert len(journal.settled()) == 7
        assert journal.settled()["e-q0"].cause == "timeout"
        assert journal.read("e-q0") == failed("q0")
        assert [journal.read(f"e-q{number}").answer for number in (3, 6, 1)] == ["3", "6", "1"]
        journal.append(record("later"))
        assert journal.read("e-later") == record("later")
    found = list(read_settled(store, prefix="checkpoints", run_id="run", shard="000"))
    assert [one.id for one in found] == ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q0", "later"]


def test_what_is_settled_can_be_looked_up_without_the_lease(store):
    with opened(store) as journal:
        for number in range(7):
            journal.append(record(f"q{number}", answer=str(number)))
        journal.append(failed("q9"))
        journal.append(record("q0", answer="again"))
        assert journal.read("e-q0").answer == "again"
        with open_settled(store, prefix="checkpoints", run_id="run", shard="000") as found:
            assert (len(found.settled()), found.settled().answered) == (8, 7)
            assert [found.read(f"e-q{number}").answer for number in (6, 0, 3)] == ["6", "again", "3"]
    assert count_records(store, prefix="checkpoints", run_id="run", shard="000") is None


def test_a_segment_is_written_when_it_is_full_or_after_a_moment(store, monkeypatch):
    monkeypatch.setattr(object_journal, "SECONDS", 0.3)
    with opened(store, flush_every=3) as journal:
        for number in range(2):
            journal.append(record(str(number)))
        assert segments(store) == []
        wait_for(lambda: journal.durable() == 2)
        assert len(segments(store)) == 1


def test_a_full_segment_does_not_wait(store, monkeypatch):
    monkeypatch.setattr(object_journal, "SECONDS", 60)
    with opened(store, flush_every=3) as journal:
        for number in range(3):
            journal.append(record(str(number)))
        wait_for(lambda: journal.durable() == 3)


def test_a_duplicated_segment_is_harmless(store):
    with opened(store) as journal:
        journal.append(record("q1"))
    store.objects["checkpoints/run/000/00000002.jsonl"] = store.objects["checkpoints/run/000/00000001.jsonl"]
    with opened(store) as journal:
        assert list(journal.settled()) == ["e-q1"]
        journal.append(record("q2"))
    assert segments(store)[-1].endswith("00000003.jsonl")


def test_a_store_that_fails_for_a_moment_is_tried_again(store):
    store.failures = 1
    with opened(store) as journal:
        journal.append(record("q1"))
    with opened(store) as journal:
        assert list(journal.settled()) == ["e-q1"]


def test_a_write_that_succeeded_although_it_failed_is_recognised(store):
    store.failures, store.fail_after_writing = 1, True
    with opened(store) as journal:
        journal.append(record("q1"))
        journal.flush()
        journal.append(record("q2"))
    with opened(store) as journal:
        assert list(journal.settled()) == ["e-q1", "e-q2"]


def test_a_store_that_keeps_failing_stops_with_a_sentence_and_keeps_what_is_there(store, monkeypatch):
    monkeypatch.setattr(object_journal, "TRIES", 2)
    journal = opened(store)
    journal.append(record("q1"))
    journal.flush()
    store.failures = 99
    journal.append(record("q2"))
    with pytest.raises(StorageFailed, match="could not be written in 2 tries") as caught:
        journal.flush()
    assert "Everything in earlier segments is kept" in str(caught.value)
    with pytest.raises(StorageFailed):
        journal.append(record("q3"))
    with pytest.raises(StorageFailed):
        journal.close()
    store.failures = 0
    with opened(store) as again:
        assert list(again.settled()) == ["e-q1"]


@pytest.mark.parametrize("damage", [b"[1]\n", b'{"schema_version":1,"run_id":"x","shard":"000"}\n', b"", b"{"])
def test_a_segment_that_is_none_is_an_error_with_its_key(store, damage):
    store.objects["checkpoints/run/000/00000001.jsonl"] = damage
    with pytest.raises(JournalDamaged, match=r"00000001\.jsonl"):
        opened(store)
    assert LEASE not in store.objects


def test_a_shard_that_this_machine_works_on_is_busy_at_once(store):
    with opened(store):
        started = time.monotonic()
        with pytest.raises(ShardBusy, match=f"process `{os.getpid()}` on"):
            opened(store)
        assert time.monotonic() - started < 2
        with opened(store, shard="001"):
            pass


def lay_lease(store, **fields):
    other = {"owner": "x", "host": "elsewhere", "pid": 7, "process": "abc-7-1", "beat": 0}
    store.objects[LEASE] = json.dumps({**other, **fields}).encode()


def test_a_lease_of_another_machine_that_is_renewed_keeps_the_shard_busy(store):
    ended = threading.Event()

    def renew():
        beat = 0
        while not ended.wait(0.2):
            beat += 1
            lay_lease(store, beat=beat)

    lay_lease(store)
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        with pytest.raises(ShardBusy, match="process `7` on `elsewhere`"):
            opened(store)
    finally:
        ended.set()
        thread.join()


def test_a_lease_of_another_machine_that_nobody_renews_runs_out(store, monkeypatch):
    monkeypatch.setattr(lease_module, "PERIOD", 1.0)
    lay_lease(store)
    started = time.monotonic()
    with opened(store) as journal:
        journal.append(record("q1"))
    assert 0.9 < time.monotonic() - started < 5


def test_a_lease_of_a_process_of_this_machine_that_is_gone_holds_up_nobody(store):
    with opened(store):
        text = store.objects[LEASE]
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    store.objects[LEASE] = text.replace(f"-{os.getpid()}-".encode(), f"-{child.pid}-".encode())
    started = time.monotonic()
    with opened(store):
        assert time.monotonic() - started < 2


def test_who_lost_the_lease_stops_and_does_not_take_it_back(store, monkeypatch):
    monkeypatch.setattr(lease_module, "PERIOD", 0.4)
    journal = opened(store)
    lay_lease(store)
    time.sleep(0.5)
    journal.append(record("q1"))
    with pytest.raises(ShardBusy, match="taken over by process `7` on `elsewhere`"):
        journal.close()
    assert b"elsewhere" in store.objects[LEASE]


def test_two_processes_that_both_believe_to_hold_the_lease_never_interleave(store):
    first = opened(store)
    lease = store.objects.pop(LEASE)
    second = opened(store)
    assert lease != store.objects[LEASE]
    first.append(record("q1"))
    first.flush()
    second.append(record("q2"))
    with pytest.raises(ShardBusy, match="was written by another process"):
        second.flush()
    first.append(record("q3"))
    first.close()
    with pytest.raises(ShardBusy):
        second.close()
    store.objects.pop(LEASE, None)
    with opened(store) as journal:
        assert list(journal.settled()) == ["e-q1", "e-q3"]


def test_a_store_that_is_a_folder_gets_one_file_a_shard(tmp_path):
    class FolderStore(MemoryStore):
        def path(self, key):
            return tmp_path / key

    store = FolderStore()
    with opened(store) as journal:
        journal.append(record("q1"))
    assert (tmp_path / "checkpoints" / "run" / "000.jsonl").exists()
    assert not store.objects
    assert [one.id for one in read_settled(store, prefix="checkpoints", run_id="run", shard="000")] == ["q1"]


def test_a_run_killed_again_and_again_loses_nothing_on_s3(bench, s3_endpoint):
    bench.adapter("""
        class Agent:
            def run(self, question):
                time.sleep(0.02)
                return "answer to " + question
    """)
    prefix = s3_endpoint.new_prefix()
    code = f"""
import sys
from pathlib import Path
import boto3
from bench_assets.storage.objects import S3Store
from bench_assets.execution.journal import open_journal
from tests.execution.conftest import Bench, execution
store = S3Store(boto3.client("s3"), bucket={s3_endpoint.bucket!r}, prefix={prefix!r})
bench = Bench(Path({str(bench.folder)!r}), tag={bench.tag!r})
with bench.engine(parallelism=2) as engine:
    with open_journal(store, prefix="checkpoints", run_id="run", shard="000", flush_every=4) as journal:
        planned = [execution(f"q{{number}}") for number in range({TOTAL})]
        todo = [one for one in planned if one.execution_id not in journal.settled()]
        engine.run(todo, journal=journal, shard="000")
"""
    store = S3Store(s3_endpoint.client(), bucket=s3_endpoint.bucket, prefix=prefix)
    seen = kills = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=Path(__file__).parents[2], env={**os.environ, **s3_endpoint.environment}
        )
        goal = seen + 8
        wait_for(lambda goal=goal, process=process: process.poll() is not None or count(store) >= goal, seconds=60)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert count(store) >= seen
        seen = count(store)
        if process.returncode == 0:
            break
        kills += 1
    assert kills >= 2
    records = list(read_settled(store, prefix="checkpoints", run_id="run", shard="000"))
    assert {one.execution_id for one in records} == {execution(f"q{number}").execution_id for number in range(TOTAL)}
    assert all(one.answer == f"answer to {one.id}" for one in records)
    assert len(records) == TOTAL


def count(store):
    return sum(1 for _ in read_settled(store, prefix="checkpoints", run_id="run", shard="000"))
