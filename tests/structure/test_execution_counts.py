"""What a question costs the orchestrator, in calls. Counts only: the times are `make bench ITEM=questions`'s."""

import cProfile
import os
import pstats

import pytest

from bench_assets.contracts.answer import Attempt, SettledExecution
from bench_assets.execution.journal import open_journal
from tests.execution.conftest import Bench, bench, execution

__all__ = ["bench"]

QUESTIONS = 4000


@pytest.fixture
def loop(bench: Bench) -> pstats.Stats:
    """The engine's loop while an agent that does nothing answers questions."""
    bench.adapter("class Agent:\n    def run(self, question): return question")
    profiler = cProfile.Profile()
    with bench.engine(parallelism=2) as engine, bench.journal() as journal:
        engine.run([execution(f"first {number}") for number in range(200)], journal=journal, shard="000")
        executions = [execution(f"q{number}") for number in range(QUESTIONS)]
        profiler.enable()
        engine.run(executions, journal=journal, shard="000")
        profiler.disable()
    return pstats.Stats(profiler)


def calls(stats: pstats.Stats, name: str) -> int:
    return sum(counted[1] for (_, _, function), counted in stats.stats.items() if name in function)  # type: ignore[attr-defined]


def test_a_question_takes_a_bounded_number_of_calls(loop):
    assert loop.total_calls / QUESTIONS < 150  # 120 when this was written


def test_messages_of_a_very_quick_agent_share_system_calls(loop):
    system = sum(calls(loop, name) for name in ("posix.write", "posix.read", "method 'poll' of"))
    assert system / QUESTIONS < 2.5  # three without sharing: poll, read, write


def test_records_that_are_appended_together_share_a_flush(tmp_path, monkeypatch):
    flushes = []
    flush = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda file: (flushes.append(file), flush(file))[1])
    attempt = Attempt(number=1, cause="answered", duration_ms=1, worker="000-1", started_at="2026-01-02T03:04:05+00:00")
    fields = {"answer": "yes", "duration_ms": 1, "attempt": 1, "started_at": attempt.started_at}
    record = SettledExecution(execution_id="", id="q", repetition=1, attempts=[attempt], **fields)
    with open_journal(tmp_path, run_id="run", shard="000", flush_every=50) as journal:
        for number in range(10_000):
            journal.append(record.model_copy(update={"execution_id": f"{number:032x}"}))
    assert 1 <= len(flushes) < 500
