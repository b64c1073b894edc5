"""Attempts under way, and every rule of what becomes of an execution when its attempt or its worker ends."""

import logging
from collections import deque
from typing import Any

from bench_assets.contracts.answer import ErrorInfo
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.execution.attempts import Flight, answered, failed
from bench_assets.execution.backlog import Backlog, Task
from bench_assets.execution.messages import ProtocolViolation, error_of, redacted
from bench_assets.execution.pool import UNNEEDED, WorkerPool
from bench_assets.execution.progress import Tally
from bench_assets.execution.worker_process import WorkerEnd, WorkerProcess, fault_of

logger = logging.getLogger(__name__)


class Flights:
    """What is in flight. Each task that begins here ends once: settled in the tally, or back in the backlog."""

    def __init__(self, *, backlog: Backlog, tally: Tally, pool: WorkerPool, policy: ExecutionPolicy) -> None:
        """All of one run."""
        self._backlog = backlog
        self._tally = tally
        self._pool = pool
        self._policy = policy
        self._in_order: deque[Flight] = deque()  # every attempt has the same limit, so the first one is the next due
        self.count = 0
        """Attempts under way."""

    @property
    def next_deadline(self) -> float | None:
        """When the next attempt runs out of time, at the earliest; None when there is none."""
        return self._in_order[0].deadline if self._in_order else None

    def begin(self, worker: WorkerProcess, task: Task, *, now: float) -> int:
        """Note that a worker is asked; return the request's id.

        A worker that is asked one thing at a time may be handed the next one ahead of its turn; its time runs from the
        end of the one before.
        """
        flight = Flight(task, worker, started=now, deadline=now + self._policy.timeout_sec)
        if worker.concurrent or not worker.flights:
            self._in_order.append(flight)
        worker.asked += 1
        worker.flights[worker.asked] = flight
        worker.company = task.company
        self.count += 1
        self._tally.attempts += 1
        return worker.asked

    def take_reply(self, worker: WorkerProcess, message: dict[str, Any], *, now: float) -> None:
        """Note a `result` or `error`. Raises ProtocolViolation for an answer to what was never asked."""
        flight = worker.flights.pop(message["request"], None)
        if flight is None:
            if message["request"] > worker.asked:
                raise ProtocolViolation(f"answered request `{message['request']}`, which it was never asked")
            return  # a second reply, or one that comes too late
        self._land(flight)
        worker.pace = message["duration"]
        worker.slowest = max(worker.pace, 0.9 * worker.slowest)
        if worker.flights and not worker.concurrent:
            following = next(iter(worker.flights.values()))
            following.begin(started=now, deadline=now + self._policy.timeout_sec)
            self._in_order.append(following)
        if message["type"] == "result":
            self._tally.settle(answered(flight, message, now=now))
        elif message["kind"] == "cancelled":
            self._backlog.give_back(flight.task)
        else:
            self._fail(flight, error_of(message), now=now)

    def expire(self, now: float) -> bool:
        """End the workers whose time is up; return whether there were any."""
        order, expired = self._in_order, False
        while order and (order[0].over or order[0].deadline <= now):
            flight = order.popleft()
            # One whose worker is ending already is settled when that is gone.
            if not flight.over and not flight.worker.ended:
                self._time_out(flight.worker, now)
                expired = True
        return expired

    def gone(self, worker: WorkerProcess, end: WorkerEnd, *, now: float, stopping: bool) -> None:
        """Note that a worker is gone. Raises WorkerFailed when there is no point in starting another."""
        flights = list(worker.flights.values())
        worker.flights.clear()
        for flight in flights:
            self._land(flight)
        if worker.fault is UNNEEDED:
            return
        if not worker.concurrent:  # the first one was worked on, others only waited for their turn
            for flight in flights[1:]:
                self._backlog.give_back(flight.task)
            del flights[1:]
        if not worker.asked:
            doing = "waited for its first question" if worker.ready else "was starting"
            if not stopping:
                self._pool.start_failed(worker.fault or fault_of(end, doing=doing), tail=end.tail, now=now)
        elif len(flights) == 1:
            fault = worker.fault or fault_of(end, doing="worked on this question")
            self._backlog.convict(flights[0].task)
            self._fail(flights[0], fault, now=worker.ended_at)
        elif flights:
            logger.warning(
                "Worker %s ended with %d questions in flight. They are asked again in smaller groups, to find out "
                "which of them does that.",
                worker.name,
                len(flights),
            )
            self._backlog.suspect([flight.task for flight in flights])

    def _land(self, flight: Flight) -> None:
        flight.over = True
        self.count -= 1
        if not flight.worker.flights:
            flight.worker.company = None

    def _fail(self, flight: Flight, error: ErrorInfo, *, now: float) -> None:
        record = failed(flight, redacted(error, self._pool.redact), policy=self._policy, now=now)
        if record is not None:
            self._tally.settle(record)
        else:
            self._backlog.pause(flight.task, until=now + flight.task.backoff)

    def _time_out(self, worker: WorkerProcess, now: float) -> None:
        """End a worker. What is due there has failed; the rest goes back, as if it had never been handed out."""
        limit = f"timeout_sec={self._policy.timeout_sec:g}"
        fault = None
        for flight in worker.flights.values():
            self._land(flight)
            if flight.deadline <= now and (worker.concurrent or fault is None):
                message = f"no answer after {now - flight.started:.1f} s; the limit is {limit}"
                fault = ErrorInfo(kind="timeout", message=message, limit=limit)
                self._fail(flight, fault, now=now)
            else:
                self._backlog.give_back(flight.task)
        worker.flights.clear()
        self._pool.end(worker, fault=fault)
