"""The journal in a folder."""

import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bench_assets.contracts.answer import Attempt, ErrorInfo, SettledExecution
from bench_assets.errors import JournalDamaged, ShardBusy, StorageFailed
from bench_assets.execution.journal import count_records, open_journal, open_settled, read_settled


def record(name, answer="yes", **more):
    attempt = Attempt(number=1, cause="answered", duration_ms=1, worker="000-1", started_at="2026-01-02T03:04:05+00:00")
    fields = {"answer": answer, "duration_ms": 1, "attempt": 1, "attempts": [attempt], "started_at": attempt.started_at}
    return SettledExecution(**{"execution_id": f"e-{name}", "id": name, "repetition": 1, **fields, **more})


def failed(name):
    return record(name, answer=None, error=ErrorInfo(kind="timeout", message="too slow", limit="timeout_sec=1"))


@pytest.fixture
def opened(tmp_path):
    def opened(shard="000", run_id="run"):
        return open_journal(tmp_path, prefix="checkpoints", run_id=run_id, shard=shard, flush_every=50)

    return opened


@pytest.fixture
def file(tmp_path):
    return tmp_path / "checkpoints" / "run" / "000.jsonl"


def write(opened, *records):
    with opened() as journal:
        for one in records:
            journal.append(one)


def lines(file):
    return file.read_bytes().split(b"\n")


def test_what_is_appended_is_there_in_the_next_process(opened):
    write(opened, record("q1"), failed("q2"))
    with opened() as journal:
        assert {name: (status.kind, status.cause, status.attempts) for name, status in journal.settled().items()} == {
            "e-q1": ("answered", None, 1),
            "e-q2": ("error", "timeout", 1),
        }
        assert journal.read("e-q1") == record("q1")
        assert journal.read("e-q2") == failed("q2")
        with pytest.raises(KeyError):
            journal.read("e-q3")


def test_the_last_record_of_an_execution_wins(opened, tmp_path):
    write(opened, failed("q1"), record("q2"), record("q1", answer="now"))
    with opened() as journal:
        assert journal.settled()["e-q1"].kind == "answered"
        assert journal.read("e-q1").answer == "now"
    found = list(read_settled(tmp_path, prefix="checkpoints", run_id="run", shard="000"))
    assert [one.id for one in found] == ["q1", "q2", "q1"]


def test_a_record_can_be_read_at_once(opened):
    with opened() as journal:
        for number in range(100):
            journal.append(record(f"q{number}", answer=str(number)))
            assert journal.read(f"e-q{number}").answer == str(number)


def test_durable_counts_up_and_flush_waits_for_all(opened):
    with opened() as journal:
        assert journal.durable() == 0
        for number in range(1000):
            journal.append(record(f"q{number}"))
        journal.flush()
        assert journal.durable() == 1000
    with opened() as journal:
        assert journal.durable() == 0
        assert len(journal.settled()) == 1000


@pytest.mark.parametrize(
    "answer", ["a\u2028b\x85c\x0cd\re", "nul\x00", "lone \ud800 one", "я" * 2_000_000, "", '"}\n{"', "\ufeff"]
)
def test_any_answer_survives(opened, file, answer):
    write(opened, record("q1", answer=answer), record("q2"))
    with opened() as journal:
        assert journal.read("e-q1").answer == answer.replace("\ud800", "\ufffd")
        assert journal.read("e-q2").answer == "yes"
    for line in lines(file)[:-1]:
        json.loads(line.decode("utf-8"), parse_constant=pytest.fail)


def test_no_number_that_json_lacks_is_written(opened, file):
    write(opened, record("q1", meta={"score": float("nan"), "deep": [float("inf")]}, trajectory=float("-inf")))
    with opened() as journal:
        assert journal.read("e-q1").meta == {"score": None, "deep": [None]}
    assert b"NaN" not in file.read_bytes()


@pytest.mark.parametrize(
    "tail",
    [
        b'{"execution_id":"e-q2","answer":"\xd0',
        b"{",
        b"\x00" * 4096,
        record("q2").to_line()[:-1],
        b'{"execution_id":"e-q2","ans\x00\x00\x00\x00"}\n',
    ],
)
def test_a_torn_end_is_cut_off_with_a_warning_before_anything_is_appended(opened, file, tail, caplog, tmp_path):
    write(opened, record("q1"))
    with file.open("ab") as torn:
        torn.write(tail)
    assert [one.id for one in read_settled(tmp_path, prefix="checkpoints", run_id="run", shard="000")] == ["q1"]
    with opened() as journal:
        assert list(journal.settled()) == ["e-q1"]
        journal.append(record("q2"))
        journal.append(record("q3"))
    assert f"ended in {len(tail)} bytes of a line" in caplog.text
    found = [json.loads(line) for line in lines(file)[1:-1]]
    assert [one["id"] for one in found] == ["q1", "q2", "q3"]
    caplog.clear()
    with opened() as journal:
        assert len(journal.settled()) == 3
    assert not caplog.text


@pytest.mark.parametrize("content", [b"", b'{"schema_ver'])
def test_a_file_that_a_crash_left_without_its_first_line_is_an_empty_journal(opened, file, content):
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    write(opened, record("q1"))
    with opened() as journal:
        assert list(journal.settled()) == ["e-q1"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (b'{"execution_id":"e-q2","answer":"\xd0\n', "line 3"),
        (b'{"id":"q2"}\n', "line 3"),
        (b"\n", "line 3"),
        (record("q2").to_line().replace(b'"attempt":1', b'"attempt":"x"'), "`attempt`"),
    ],
)
def test_a_bad_line_in_the_middle_is_an_error_with_its_number(opened, file, damage, said):
    write(opened, record("q1"))
    with file.open("ab") as damaged:
        damaged.write(damage + record("q3").to_line())
    before = file.read_bytes()
    with pytest.raises(JournalDamaged, match="line 3 is not a settled execution") as caught:
        opened()
    assert said in str(caught.value)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (
            b'{"schema_version":2,"run_id":"run","shard":"000"}\n',
            "schema_version `2`; this release of bench-assets reads 1",
        ),
        (b'{"schema_version":1,"run_id":"other","shard":"000"}\n', "belongs to run `other`"),
        (b'{"schema_version":1,"run_id":"run","shard":"001"}\n', "shard `001`"),
        (b'{"id":"q1","answer":"4"}\n', "line 1 is not the beginning of a journal"),
        (b"[1]\n", "line 1 is not the beginning of a journal"),
    ],
)
def test_a_file_that_is_not_this_shards_journal_is_refused(opened, file, first, said):
    file.parent.mkdir(parents=True)
    file.write_bytes(first)
    with pytest.raises(JournalDamaged) as caught:
        opened()
    assert said in str(caught.value)


def test_a_shard_that_is_open_is_busy_and_free_again_after_its_end(opened):
    with opened():
        with pytest.raises(ShardBusy) as caught:
            opened()
        assert f"process `{os.getpid()}`" in str(caught.value)
        assert "Wait until it is done" in str(caught.value)
        with opened(shard="001"), opened(run_id="other"):
            pass
    with opened():
        pass


def test_a_failed_opening_leaves_the_shard_free(opened, file):
    file.parent.mkdir(parents=True)
    file.write_bytes(b"[1]\n")
    for _ in range(2):
        with pytest.raises(JournalDamaged):
            opened()


def test_a_killed_process_leaves_the_shard_free_and_what_was_durable(opened, tmp_path):
    code = f"""
        import os, signal, sys
        from pathlib import Path
        from bench_assets.execution.journal import open_journal
        from tests.execution.test_journal import record
        journal = open_journal(Path({str(tmp_path)!r}), prefix="checkpoints", run_id="run", shard="000", flush_every=9)
        for number in range(200):
            journal.append(record(str(number)))
            if number == 150:
                journal.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=root, check=False, timeout=60)
    with opened() as journal:
        assert len(journal.settled()) >= 151


def test_a_full_disk_stops_with_a_sentence_and_keeps_every_earlier_row(opened, file, tmp_path):
    # A limit on the size of files gives what a full disk gives: a part of a write, then an error.
    code = f"""
        import resource
        from pathlib import Path
        from bench_assets.errors import StorageFailed
        from bench_assets.execution.journal import open_journal
        from tests.execution.test_journal import record
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        journal = open_journal(Path({str(tmp_path)!r}), prefix="checkpoints", run_id="run", shard="000", flush_every=9)
        try:
            for number in range(1000):
                journal.append(record(str(number)))
                if number % 10 == 0:
                    journal.flush()
        except StorageFailed as error:
            print(journal.durable.__self__._group._durable)
            print(error)
        try:
            journal.close()
        except StorageFailed as error:
            print("again:", error)
    """
    root = Path(__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=root, check=True, timeout=60, capture_output=True, text=True
    )
    durable, said, again = found.stdout.splitlines()
    assert f"`{file}` could not be written: File too large" in said
    assert "Everything settled before is intact" in said
    assert again.startswith("again: ")
    assert file.read_bytes().endswith(b"\n")
    with opened() as journal:
        assert len(journal.settled()) == int(durable) > 20
        journal.append(record("after"))
    with opened() as journal:
        assert journal.settled()["e-after"].kind == "answered"


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageFailed, match="file/run"):
        open_journal(tmp_path / "file", run_id="run", shard="000", flush_every=1)


def test_reading_a_journal_that_does_not_exist_finds_nothing_and_makes_nothing(tmp_path):
    assert list(read_settled(tmp_path, run_id="run", shard="000")) == []
    assert list(tmp_path.iterdir()) == []


def test_closing_twice_is_harmless(opened, caplog):
    caplog.set_level(logging.WARNING)
    journal = opened()
    journal.append(record("q1"))
    journal.close()
    journal.close()
    assert not caplog.text


def test_what_is_settled_can_be_looked_up_while_another_process_writes(opened, tmp_path):
    with open_settled(tmp_path, prefix="checkpoints", run_id="run", shard="000") as none:
        assert (len(none.settled()), "e-q1" in none.settled()) == (0, False)
    with opened() as journal:
        for one in (failed("q1"), record("q2"), record("q1", answer="now")):
            journal.append(one)
        journal.flush()
        with open_settled(tmp_path, prefix="checkpoints", run_id="run", shard="000") as found:
            assert list(found.settled()) == ["e-q1", "e-q2"]
            assert (found.settled().answered, found.read("e-q1").answer) == (2, "now")
            with pytest.raises(KeyError):
                found.read("e-q3")
    assert list(tmp_path.rglob("*.jsonl")) == [tmp_path / "checkpoints" / "run" / "000.jsonl"]


def test_records_are_counted_without_a_look_into_them(opened, tmp_path):
    assert count_records(tmp_path, prefix="checkpoints", run_id="run", shard="000") == 0
    write(opened, failed("q1"), record("q2"), record("q1"))
    assert count_records(tmp_path, prefix="checkpoints", run_id="run", shard="000") == 3
