"""What an attempt's end means: an answer, another attempt, or an error for good."""

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bench_assets.contracts.answer import Attempt, ErrorInfo, SettledExecution
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.execution.backlog import Task

if TYPE_CHECKING:
    from bench_assets.execution.worker_process import WorkerProcess

LONGEST_PAUSE = 3600.0
"""Seconds; where doubling the pause ends."""


class Flight:
    """One attempt under way."""

    __slots__ = ("deadline", "over", "started", "started_at", "task", "worker")

    def __init__(self, task: Task, worker: "WorkerProcess", *, started: float, deadline: float) -> None:
        """`started` and `deadline` are readings of time.monotonic()."""
        self.task = task
        self.worker = worker
        self.over = False
        self.begin(started=started, deadline=deadline)

    def begin(self, *, started: float, deadline: float) -> None:
        """Begin, or begin in earnest: one that was handed out ahead of its turn has waited until now."""
        self.started = started
        self.started_at = datetime.now(UTC).isoformat(timespec="microseconds")
        self.deadline = deadline


def answered(flight: Flight, message: dict[str, Any], *, now: float) -> SettledExecution:
    """Return the settled execution of a `result`."""
    attempts = _note(flight, "answered", now=now)
    execution = flight.task.execution
    return SettledExecution(
        execution_id=execution.execution_id,
        id=execution.id,
        repetition=execution.repetition,
        answer=message["answer"],
        duration_ms=attempts[-1].duration_ms,
        attempt=len(attempts),
        attempts=attempts,
        started_at=attempts[0].started_at,
        usage=message["usage"],
        meta=message["meta"],
        trajectory=message["trajectory"],
    )


def failed(flight: Flight, error: ErrorInfo, *, policy: ExecutionPolicy, now: float) -> SettledExecution | None:
    """Note a failed attempt; return the execution as settled with that error, or None where another attempt is due.

    In that case the task's `backoff` is the pause before it. The budget counts this process's attempts only: one who
    materializes the shard again wants the failed ones tried again.
    """
    task = flight.task
    attempts = _note(flight, error.kind, now=now, error=error)
    task.failures += 1
    if task.failures <= policy.retries_by_cause.get(error.kind, policy.retries):
        task.backoff = pause_before(task.failures + 1, policy=policy)
        return None
    execution = task.execution
    return SettledExecution(
        execution_id=execution.execution_id,
        id=execution.id,
        repetition=execution.repetition,
        answer=None,
        error=error,
        duration_ms=attempts[-1].duration_ms,
        attempt=len(attempts),
        attempts=attempts,
        started_at=attempts[0].started_at,
    )


def pause_before(attempt: int, *, policy: ExecutionPolicy) -> float:
    """Return the seconds before the `attempt`-th attempt of this process (2 is the first that has any)."""
    doubled = policy.retry_backoff_sec * 2.0 ** min(attempt - 2, 60)
    return min(doubled, LONGEST_PAUSE) * (1 + 0.25 * random.random())


def _note(flight: Flight, cause: Any, *, now: float, error: ErrorInfo | None = None) -> list[Attempt]:
    attempts = flight.task.attempts
    attempts.append(
        Attempt(
            number=len(attempts) + 1,
            cause=cause,
            message="" if error is None else error.message,
            limit=None if error is None else error.limit,
            duration_ms=max(0, round((now - flight.started) * 1000)),
            backoff_sec=round(flight.task.backoff, 3),
            worker=flight.worker.name,
            started_at=flight.started_at,
        )
    )
    return attempts
