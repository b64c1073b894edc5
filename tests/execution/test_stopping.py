"""Stops, from inside and outside, gentle and not."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from bench_assets.errors import Interrupted, StorageFailed
from bench_assets.execution.journal import read_settled
from bench_assets.execution.process_identity import this_process
from tests.execution.conftest import execution, processes_with, wait_for

SLOW = """
    class Agent:
        def run(self, question):
            open(FOLDER + "/asked", "a").write(question + "\\n")
            if question.startswith("slow"):
                while not os.path.exists(FOLDER + "/go"): time.sleep(0.01)
            return question
"""


def run_in_thread(engine, journal, questions):
    caught = []

    def work():
        try:
            engine.run([execution(question) for question in questions], journal=journal, shard="000")
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, caught


def answered(journal):
    return sorted(journal.read(settled).id for settled in journal.settled())


def test_a_stop_hands_out_nothing_more_and_keeps_what_is_finished_within_the_grace(bench):
    bench.adapter(SLOW)
    with bench.engine() as engine, bench.journal() as journal:
        thread, caught = run_in_thread(engine, journal, ["a", "b", "slow", "c", "d"])
        wait_for(lambda: "slow" in bench.lines("asked"))
        engine.stop()
        (bench.folder / "go").touch()
        thread.join(20)
        assert answered(journal) == ["a", "b", "slow"]
    assert isinstance(caught[0], Interrupted)
    assert "3 executions were settled" in str(caught[0])
    assert bench.lines("asked") == ["a", "b", "slow"]


def test_what_does_not_finish_within_the_grace_stays_open(bench):
    bench.adapter(SLOW)
    with bench.engine(stop_grace_sec=0.3) as engine, bench.journal() as journal:
        thread, caught = run_in_thread(engine, journal, ["a", "b", "slow", "c"])
        wait_for(lambda: "slow" in bench.lines("asked"))
        engine.stop()
        thread.join(20)
        assert answered(journal) == ["a", "b"]
    assert isinstance(caught[0], Interrupted)
    assert [record.id for record in read_settled(bench.folder / "checkpoints", run_id="run", shard="000")] == ["a", "b"]


def test_a_second_stop_does_not_wait(bench):
    bench.adapter(SLOW)
    with bench.engine(stop_grace_sec=600) as engine, bench.journal() as journal:
        thread, caught = run_in_thread(engine, journal, ["slow"])
        wait_for(lambda: "slow" in bench.lines("asked"))
        engine.stop()
        engine.stop()
        thread.join(20)
        assert not thread.is_alive()
    assert isinstance(caught[0], Interrupted)


def test_a_stop_is_lasting(bench):
    bench.adapter(SLOW)
    with bench.engine() as engine, bench.journal() as journal:
        engine.stop()
        with pytest.raises(Interrupted):
            engine.run([execution("a")], journal=journal, shard="000")
    engine.stop()
    assert not bench.lines("asked")


def test_an_attempt_that_fails_during_a_stop_is_not_settled_while_it_could_be_repeated(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                open(FOLDER + "/asked", "a").write(question + "\\n")
                while not os.path.exists(FOLDER + "/go"): time.sleep(0.01)
                raise ValueError
    """)
    with bench.engine(retries=1) as engine, bench.journal() as journal:
        thread, _ = run_in_thread(engine, journal, ["q"])
        wait_for(lambda: bench.lines("asked"))
        engine.stop()
        (bench.folder / "go").touch()
        thread.join(20)
        assert not journal.settled()
    assert bench.lines("asked") == ["q"]


def test_an_exception_from_outside_ends_the_workers_and_loses_no_settled_answer(bench):
    bench.adapter(SLOW)

    class Terminated(BaseException):
        pass

    def raise_it(progress):
        if progress.settled == 2:
            raise Terminated

    with bench.engine() as engine, bench.journal() as journal:
        engine._on_event = raise_it
        with pytest.raises(Terminated):
            engine.run([execution(question) for question in ("a", "b", "slow")], journal=journal, shard="000")
        (bench.folder / "go").touch()
        engine._on_event = None
        # The engine still works, and the reply to the question that was given up answers no other.
        engine.run([execution("c")], journal=journal, shard="000")
        assert answered(journal) == ["a", "b", "c"]


def test_an_async_adapter_can_clean_up_when_its_questions_are_given_up(bench):
    bench.adapter("""
        class Agent:
            async def run(self, question):
                open(FOLDER + "/asked", "a").write(question + "\\n")
                try:
                    await asyncio.sleep(600)
                finally:
                    print("cleaned up after", question)
            async def close(self): print("closed")
    """)
    with bench.engine(concurrency=2, stop_grace_sec=0.1) as engine, bench.journal() as journal:
        thread, _ = run_in_thread(engine, journal, ["a", "b"])
        wait_for(lambda: len(bench.lines("asked")) == 2)
        engine.stop()
        thread.join(20)
    assert sorted(bench.log().splitlines()) == ["cleaned up after a", "cleaned up after b", "closed"]


def test_a_journal_that_fails_ends_the_run_and_its_workers_and_keeps_what_was_durable(bench):
    bench.adapter(SLOW)

    class FullJournal:
        """A real journal until three records are durable; then the disk is full."""

        def __init__(self, journal):
            self.journal = journal

        def __getattr__(self, name):
            return getattr(self.journal, name)

        def durable(self):
            if self.journal.durable() >= 3:
                raise StorageFailed("The disk is full.")
            return self.journal.durable()

    with bench.engine() as engine, bench.journal() as journal:
        questions = [execution(question) for question in ("a", "b", "c", "slow", "d")]
        with pytest.raises(StorageFailed, match="The disk is full"):
            engine.run(questions, journal=FullJournal(journal), shard="000")
        assert answered(journal) == ["a", "b", "c"]
    assert not processes_with(bench.tag)
    assert "d" not in bench.lines("asked")


ORCHESTRATOR = """
    import sys
    from pathlib import Path
    from tests.execution.conftest import Bench, execution
    bench = Bench(Path(sys.argv[1]), tag=sys.argv[2])
    with bench.engine(parallelism=2) as engine, bench.journal() as journal:
        planned = [execution(f"q{number}") for number in range(int(sys.argv[3]))]
        todo = [one for one in planned if one.execution_id not in journal.settled()]
        if len(sys.argv) > 4:
            import signal
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: engine.stop())
        engine.run(todo, journal=journal, shard="000")
"""


def orchestrator(bench, questions, *more):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ORCHESTRATOR), str(bench.folder), bench.tag, str(questions), *more],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_a_killed_orchestrator_leaves_no_process_behind(bench):
    bench.adapter("""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        class Agent:
            def run(self, question):
                subprocess.Popen(["setsid", "sleep", "600"])
                open(FOLDER + "/folders", "a").write(os.getcwd() + "\\n")
                open(FOLDER + "/asked", "a").write(question + "\\n")
                while True: pass
    """)
    process = orchestrator(bench, 2)
    with process:
        wait_for(lambda: len(bench.lines("asked")) == 2)
        process.kill()
        killed = time.monotonic()
    wait_for(lambda: not processes_with(bench.tag))
    assert time.monotonic() - killed < 5
    assert not any(Path(folder).exists() for folder in bench.lines("folders"))


def test_what_escaped_even_a_killed_keeper_is_ended_by_the_next_engine(bench, monkeypatch):
    temporary = bench.folder / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    ended = subprocess.Popen(["true"])
    ended.wait()
    machine, _, born = this_process().split("-")
    gone = f"{machine}-{ended.pid}-{born}"
    owners = {"gone": f"{gone}-a", "ours": f"{this_process()}-b", "another container's": f"abc-{ended.pid}-1-c"}
    processes = {
        name: subprocess.Popen(["sleep", "600"], env={"BENCH_WORKER": mark, "TEST_TAG": bench.tag})
        for name, mark in owners.items()
    }
    for mark in owners.values():
        (temporary / f"bench-worker-{mark}").mkdir()
    bench.adapter(SLOW)
    bench.ask("a")
    try:
        assert processes["gone"].wait(10) == -signal.SIGKILL
        assert processes["ours"].poll() is None
        assert processes["another container's"].poll() is None
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    assert sorted(folder.name for folder in temporary.iterdir()) == sorted(
        f"bench-worker-{mark}" for name, mark in owners.items() if name != "gone"
    )


def test_nothing_settled_is_lost_however_often_the_orchestrator_is_killed(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                time.sleep(0.02)
                open(FOLDER + "/asked", "a").write(question + "\\n")
                return "answer to " + question
    """)
    total, kills, seen = 40, 0, 0
    while True:
        with orchestrator(bench, total) as process:
            goal = len(bench.lines("asked")) + 12
            wait_for(lambda goal=goal, process=process: len(bench.lines("asked")) >= goal or process.poll() is not None)
            process.kill()
        finished = process.returncode == 0
        kills += not finished
        wait_for(lambda: not processes_with(bench.tag))
        records = list(read_settled(bench.folder / "checkpoints", run_id="run", shard="000"))
        assert len(records) >= seen
        seen = len(records)
        if finished or kills > 20:
            break
    assert kills >= 2
    assert len({record.execution_id for record in records}) == len(records) == total
    assert all(record.answer == f"answer to {record.id}" for record in records)
    # Each kill can waste what was in flight, and what settled in the moment before the flush.
    assert len(bench.lines("asked")) <= total + kills * 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_in_order(bench, number):
    bench.adapter(SLOW.replace('"slow"', '"q3"'))
    with orchestrator(bench, 1000, "with signals") as process:  # more than are asked before a busy machine hears it
        wait_for(lambda: "q3" in bench.lines("asked"))
        os.kill(process.pid, number)
        (bench.folder / "go").touch()
        error = process.stderr.read().decode()
    assert "Interrupted: Stopped on request" in error
    records = list(read_settled(bench.folder / "checkpoints", run_id="run", shard="000"))
    assert sorted(record.id for record in records) == sorted(bench.lines("asked"))
