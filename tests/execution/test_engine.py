"""Asking in ordinary circumstances."""

import asyncio
import json
import logging
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.execution.conftest import execution, wait_for

ECHO = "class Agent:\n    def run(self, question, **kwargs): return question + ''.join(sorted(kwargs.values()))"


def test_every_execution_is_settled_under_its_own_id(bench):
    bench.adapter(ECHO)
    settled = bench.ask(*(f"q{number}" for number in range(50)), parallelism=3)
    assert set(settled) == {f"q{number}" for number in range(50)}
    assert all(record.answer == row for row, record in settled.items())
    assert (bench.result.answered, bench.result.errors, bench.result.attempts) == (50, {}, 50)
    record = settled["q7"]
    assert (record.attempt, record.error, record.repetition) == (1, None, 1)
    assert record.attempts[0].cause == "answered"
    assert record.attempts[0].worker in {"000-1", "000-2", "000-3"}
    assert record.started_at == record.attempts[0].started_at
    assert record.duration_ms == record.attempts[0].duration_ms


def test_repetitions_of_a_question_are_executions_of_their_own(bench):
    bench.adapter("""
        class Agent:
            asked = 0
            def run(self, question, context):
                Agent.asked += 1
                return f"{context['repetition']} {Agent.asked}"
    """)
    executions = [execution("q", repetition=number) for number in (1, 2, 3)]
    with bench.engine() as engine, bench.journal() as journal:
        engine.run(executions, journal=journal, shard="000")
        answers = [journal.read(one.execution_id).answer for one in executions]
    assert answers == ["1 1", "2 2", "3 3"]


def test_what_the_adapter_reports_besides_its_answer_is_kept(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                meta = {"score": float("nan"), "cost": float("inf"), "odd": "a\\udfff\\x00"}
                return {"answer": "1\\u2028\\x00", "usage": {"tokens": 3}, "meta": meta, "trajectory": ["step"]}
    """)
    record = bench.ask("q")["q"]
    assert record.answer == "1\u2028\x00"
    assert record.meta == {"score": None, "cost": None, "odd": "a\ufffd\x00"}
    assert (record.usage, record.trajectory) == ({"tokens": 3}, ["step"])


def test_kwargs_and_context_reach_the_agent_and_each_attempt_has_a_trace_of_its_own(bench):
    bench.adapter("""
        class Agent:
            def run(self, question, style, context):
                with open(FOLDER + "/contexts", "a") as file: print(json.dumps({**context, "style": style}), file=file)
                if len(open(FOLDER + "/contexts").readlines()) == 1: raise ValueError
                return "ok"
    """)
    bench.ask("q", retries=1, launch={"kwargs": {"style": "short", "unknown": 1}})
    first, second = (json.loads(line) for line in bench.lines("contexts"))
    assert first["run_id"] == "20260102-030405-0a0b0c0d"
    assert (first["question_id"], first["repetition"], first["style"]) == ("q", 1, "short")
    assert first["traceparent"] != second["traceparent"]
    assert len(first["traceparent"].split("-")) == 4


def test_an_agent_starts_once_for_all_shards(bench):
    bench.adapter(f"open(FOLDER + '/started', 'a').write('x\\n')\n{ECHO}")
    with bench.engine(parallelism=2) as engine:
        assert engine.agent is None
        for shard in ("000", "001", "002"):
            with bench.journal(shard) as journal:
                result = engine.run([execution(f"{shard}-{n}") for n in range(4)], journal=journal, shard=shard)
                assert result.answered == 4
        assert engine.agent.python.startswith("3.")
    assert 1 <= len(bench.lines("started")) <= 2  # once a worker; a quick one may leave the other nothing to do


def test_no_more_workers_start_than_there_are_questions_for(bench):
    bench.adapter(ECHO)
    bench.ask("one", "two", parallelism=8)
    assert bench.result.worker_starts == 2


def test_nothing_to_ask_starts_nothing(bench):
    with bench.engine(parallelism=4) as engine, bench.journal() as journal:
        result = engine.run([], journal=journal, shard="000")
    assert (result.settled, result.worker_starts) == (0, 0)
    assert not (bench.folder / "logs").exists()


def test_executions_are_read_as_they_are_needed(bench):
    bench.adapter(ECHO)
    ahead = 0

    def executions():
        nonlocal ahead
        for number in range(1000):
            settled = sum(1 for _ in journal.settled())
            ahead = max(ahead, number - settled)
            yield execution(f"q{number}")

    with bench.engine(parallelism=2) as engine, bench.journal() as journal:
        assert engine.run(executions(), journal=journal, shard="000").answered == 1000
    assert ahead <= 150


def test_progress_counts_up_to_the_end(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                time.sleep(0.02)
                return str(1 / (int(question) % 3))
    """)
    bench.ask(*map(str, range(30)))
    last = bench.events[-1]
    assert (last.shard, last.settled, last.answered, last.errors, last.in_flight) == ("000", 30, 20, 10, 0)
    counts = [event.settled for event in bench.events]
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    assert all(event.settled == event.answered + event.errors for event in bench.events)


def test_one_worker_keeps_sixty_four_questions_in_flight(bench):
    bench.adapter(
        "class Agent:\n    async def run(self, question):\n        await asyncio.sleep(1)\n        return question"
    )
    with bench.engine(concurrency=64) as engine, bench.journal() as journal:
        engine.run([execution("warm up")], journal=journal, shard="000")
        started = time.monotonic()
        result = engine.run((execution(f"q{n}") for n in range(192)), journal=journal, shard="000")
        took = time.monotonic() - started
    assert (result.answered, result.worker_starts) == (192, 0)
    assert 3 <= took < 6


def test_a_plain_adapter_is_asked_one_thing_at_a_time_whatever_the_concurrency(bench, caplog):
    bench.adapter(ECHO)
    with bench.engine(concurrency=8, parallelism=2) as engine, bench.journal() as journal:
        result = engine.run([execution(f"q{n}") for n in range(20)], journal=journal, shard="000")
    assert result.answered == 20
    assert "`concurrency: 8` has no effect" in caplog.text
    assert max(event.in_flight for event in bench.events) <= 4  # the next one waits with the worker at most


def test_questions_are_handed_out_no_faster_than_the_interval(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                open(FOLDER + "/times", "a").write(f"{time.monotonic()}\\n")
                return "ok"
    """)
    bench.ask(*(f"q{n}" for n in range(6)), parallelism=3, min_start_interval_sec=0.2)
    times = sorted(map(float, bench.lines("times")))
    assert times[-1] - times[0] >= 0.2 * 5 - 0.1


def test_a_worker_is_replaced_after_its_share_of_questions(bench):
    bench.adapter(
        "class Agent:\n    def run(self, question): return str(os.getpid())\n    def close(self): print('bye')"
    )
    settled = bench.ask(*(f"q{n}" for n in range(7)), questions_per_worker=3)
    assert len({record.answer for record in settled.values()}) == 3
    assert bench.result.worker_starts == 3
    assert "bye" in bench.log("000-1")


def test_the_agent_gets_a_fresh_empty_folder_that_is_gone_afterwards(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                found = os.listdir()
                open("left behind", "w").close()
                return json.dumps([os.getcwd(), found])
    """)
    folder, found = json.loads(bench.ask("q")["q"].answer)
    assert found == []
    assert not Path(folder).exists()
    assert not Path(folder).is_relative_to(Path(__file__).parents[2])


def test_it_works_in_a_thread_and_inside_a_running_event_loop(bench):
    bench.adapter(ECHO)

    async def inside_a_loop():
        return bench.ask("in a loop")

    assert asyncio.run(inside_a_loop())["in a loop"].answer == "in a loop"
    thread = threading.Thread(target=bench.ask, args=("in a thread",))
    thread.start()
    thread.join(30)
    assert bench.result.answered == 1


def test_workers_outlive_the_thread_that_started_them(bench):
    bench.adapter(f"open(FOLDER + '/started', 'a').write('x\\n')\n{ECHO}")
    with bench.engine() as engine, bench.journal() as journal:
        for number in range(2):
            thread = threading.Thread(
                target=engine.run, args=([execution(f"q{number}")],), kwargs={"journal": journal, "shard": "000"}
            )
            thread.start()
            thread.join(30)
        assert len(journal.settled()) == 2
    assert len(bench.lines("started")) == 1


def test_messages_are_logged_on_request_without_the_agents_secrets(bench, caplog):
    bench.adapter("class Agent:\n    def run(self, question): return os.environ['MY_API_KEY']")
    caplog.set_level(logging.INFO, logger="bench_assets.ipc")
    bench.ask("quiet")
    assert "quiet" not in caplog.text
    bench.ask("loud", launch={"log_ipc": True, "env": {"MY_API_KEY": "sk-very-secret-value"}})
    assert '"question":"loud"' in caplog.text
    assert '"type":"ready"' in caplog.text
    assert "sk-very-secret-value" not in caplog.text


def test_an_agent_that_describes_itself_differently_from_worker_to_worker_is_noticed(bench, caplog):
    bench.adapter(
        "class Agent:\n    def run(self, q): return 'ok'\n    def describe(self): return {'pid': os.getpid()}"
    )
    bench.ask("a", "b", "c", questions_per_worker=1)
    assert "describes the agent differently" in caplog.text


def test_a_worker_that_died_between_two_runs_costs_no_attempt(bench):
    bench.adapter("class Agent:\n    def run(self, question): return str(os.getpid())")
    with bench.engine() as engine, bench.journal() as journal:
        engine.run([execution("a")], journal=journal, shard="000")
        worker = int(journal.read(execution("a").execution_id).answer)
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: not Path(f"/proc/{worker}").exists())
        engine.run([execution("b")], journal=journal, shard="000")
        record = journal.read(execution("b").execution_id)
    assert (record.error, record.attempt) == (None, 1)


def test_an_engine_leaves_no_descriptor_thread_or_folder_behind(bench, monkeypatch):
    temporary = bench.folder / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    bench.adapter("class Agent:\n    def run(self, question): return os._exit(1) if question == 'bad' else question")

    def count():
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    before = count()
    for _ in range(2):
        bench.ask("a", "bad", "b", parallelism=2)
    assert count() == before
    assert list(temporary.iterdir()) == []


def test_a_second_run_at_once_and_one_after_the_end_are_refused(bench):
    bench.adapter(ECHO)
    with bench.engine() as engine, bench.journal() as journal:

        def executions():
            with pytest.raises(RuntimeError, match="running already"):
                engine.run([], journal=journal, shard="000")
            yield execution("q")

        engine.run(executions(), journal=journal, shard="000")
    with pytest.raises(RuntimeError, match="closed"):
        engine.run([], journal=journal, shard="000")
    engine.close()
