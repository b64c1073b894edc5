"""One run of the engine: the loop, and every rule of what happens to an execution and its worker.

The loop belongs to the thread that calls it. It waits in one `select` for replies, for the ends of workers, for the
clock and for a request to stop; nothing else in it blocks. Asyncio is not used: the caller may well be inside an event
loop of its own, and a question would cost several times as much.
"""

import logging
import selectors
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from bench_assets.contracts.answer import ErrorInfo
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.execution.attempts import Flight, answered, failed
from bench_assets.execution.backlog import Backlog, Task
from bench_assets.execution.messages import (
    AgentIdentity,
    ProtocolViolation,
    ask_line,
    error_of,
    identity_of,
    read_message,
    redacted,
)
from bench_assets.execution.pool import UNNEEDED, WorkerPool
from bench_assets.execution.progress import Tally
from bench_assets.execution.stop_request import StopRequest
from bench_assets.execution.worker_process import WorkerEnd, WorkerProcess, fault_of

logger = logging.getLogger(__name__)

TICK = 1.0
"""Seconds between looks at what no event tells: a worker that ended while something else holds its pipes open."""
COUNT_SEC = 0.05
"""Seconds between looks at what became durable."""


class Asking:
    """Asks a backlog and settles all of it, unless it is stopped."""

    def __init__(
        self,
        backlog: Backlog,
        *,
        pool: WorkerPool,
        selector: selectors.BaseSelector,
        tally: Tally,
        stop: StopRequest,
        policy: ExecutionPolicy,
        kwargs: Mapping[str, JsonValue],
        run_id: str,
        shard: str,
        stop_grace_sec: float,
        on_ready: Callable[[AgentIdentity], None],
    ) -> None:
        """`on_ready` is told who answers, each time a worker became ready."""
        self._backlog = backlog
        self._pool = pool
        self._selector = selector
        self._tally = tally
        self._stop = stop
        self._policy = policy
        self._kwargs = dict(kwargs)
        self._run_id = run_id
        self._shard = shard
        self._stop_grace_sec = stop_grace_sec
        self._stop_deadline: float | None = None
        self._on_ready = on_ready
        self._in_order: deque[Flight] = deque()
        self._in_flight = 0
        self._next_hand_out = 0.0
        self._next_look = 0.0
        self._sweep = True

    def go(self) -> bool:
        """Ask until everything is settled; return False when a stop came before that.

        Raises WorkerFailed when no worker becomes ready, StorageFailed when the journal fails.
        """
        while True:
            now = time.monotonic()
            for worker, end in self._pool.gone():
                self._gone(worker, end, now=now)
            self._expire(now)
            if self._stop.count:
                if self._stopped(now):
                    return False
            else:
                self._hand_out(now)
                if not self._in_flight and self._backlog.is_empty():
                    return True
            uncounted = self._tally.count()
            self.report(now)
            self._wait(now, uncounted=uncounted)

    def report(self, now: float, *, last: bool = False) -> None:
        """Tell how far it is."""
        self._tally.report(
            now,
            in_flight=self._in_flight,
            waiting_for_retry=self._backlog.paused,
            workers=len(self._pool.workers),
            last=last,
        )

    def _stopped(self, now: float) -> bool:
        if self._stop_deadline is None:
            self._stop_deadline = now + self._stop_grace_sec
        return not self._in_flight or self._stop.count > 1 or now >= self._stop_deadline

    # Handing out

    def _hand_out(self, now: float) -> None:
        due = self._backlog.next_due
        if self._sweep or (due is not None and due <= now) or self._next_hand_out:
            self._sweep = False
            for worker in list(self._pool.workers):
                self._feed(worker, now)
        while self._pool.may_grow(now):
            free = (worker.capacity - len(worker.flights) for worker in self._pool.workers if not worker.alone)
            room = sum(free)
            if self._backlog.waiting(now, enough=room + 1) <= room:
                break
            self._pool.start(shard=self._shard, now=now)

    def _feed(self, worker: WorkerProcess, now: float) -> None:
        if not worker.ready or self._stop.count:
            return
        fed = False
        while len(worker.flights) < worker.capacity and not worker.alone and now >= self._next_hand_out:
            if self._policy.questions_per_worker is not None and worker.asked >= self._policy.questions_per_worker:
                if not worker.flights:
                    self._pool.end(worker, fault=UNNEEDED, gently=True)
                break
            task = self._backlog.take(now, idle=not worker.flights)
            if task is None:
                break
            self._ask(worker, task, now)
            fed = True
        if fed:
            self._send(worker)

    def _ask(self, worker: WorkerProcess, task: Task, now: float) -> None:
        worker.asked += 1
        flight = Flight(task, worker, started=now, deadline=now + self._policy.timeout_sec)
        worker.flights[worker.asked] = flight
        worker.alone = task.alone
        self._in_order.append(flight)
        self._in_flight += 1
        self._tally.attempts += 1
        if self._policy.min_start_interval_sec:
            self._next_hand_out = now + self._policy.min_start_interval_sec
        number = len(task.attempts) + 1
        worker.queue(ask_line(worker.asked, task.execution, kwargs=self._kwargs, run_id=self._run_id, attempt=number))

    def _send(self, worker: WorkerProcess) -> None:
        try:
            self._pool.send(worker)
        except BrokenPipeError:
            self._pool.end(worker)

    # What workers say

    def _receive(self, worker: WorkerProcess) -> None:
        try:
            lines = worker.receive()
            if lines is None:
                self._pool.end(worker)
                return
            now = time.monotonic()
            for line in lines:
                if not worker.ended:
                    self._take(worker, read_message(line), now=now)
        except ProtocolViolation as violation:
            self._pool.end(worker, fault=ErrorInfo(kind="protocol_error", message=f"the worker {violation}"))
        if not worker.ended:
            self._feed(worker, now)

    def _take(self, worker: WorkerProcess, message: dict[str, Any], *, now: float) -> None:
        kind = message["type"]
        if kind in ("result", "error"):
            request = message["request"]
            flight = worker.flights.pop(request, None)
            if flight is None:
                if request > worker.asked:
                    raise ProtocolViolation(f"answered request `{request}`, which it was never asked")
                return  # a second reply, or one that comes too late
            self._land(flight)
            if kind == "result":
                self._tally.settle(answered(flight, message, now=now))
            else:
                self._fail(flight, error_of(message), now=now)
        elif worker.ready:
            raise ProtocolViolation(f"sent `{kind}` when it was ready already")
        elif kind == "ready":
            self._on_ready(identity_of(message))
            self._pool.became_ready(worker, concurrent=message["concurrent"])
        else:
            self._pool.end(worker, fault=error_of(message))

    # How attempts and workers end

    def _land(self, flight: Flight) -> None:
        flight.over = True
        flight.worker.alone = False
        self._in_flight -= 1

    def _fail(self, flight: Flight, error: ErrorInfo, *, now: float) -> None:
        record = failed(flight, redacted(error, self._pool.redact), policy=self._policy, now=now)
        if record is not None:
            self._tally.settle(record)
        else:
            self._backlog.pause(flight.task, until=now + flight.task.backoff)

    def _expire(self, now: float) -> None:
        order = self._in_order
        while order and (order[0].over or order[0].deadline <= now):
            flight = order.popleft()
            if not flight.over:
                self._time_out(flight.worker, now)
        limit = self._policy.worker_ready_timeout_sec
        for worker in [one for one in self._pool.starting if now >= one.started + limit]:
            message = (
                f"it was not ready after {now - worker.started:.1f} s; the limit is worker_ready_timeout_sec={limit:g}"
            )
            fault = ErrorInfo(kind="ready_timeout", message=message, limit=f"worker_ready_timeout_sec={limit:g}")
            self._pool.end(worker, fault=fault)

    def _time_out(self, worker: WorkerProcess, now: float) -> None:
        limit = f"timeout_sec={self._policy.timeout_sec:g}"
        if worker.ended:  # it is ending already, and what it worked on is settled when it is gone
            return
        fault = None
        for flight in worker.flights.values():
            self._land(flight)
            if flight.deadline <= now:
                message = f"no answer after {now - flight.started:.1f} s; the limit is {limit}"
                fault = ErrorInfo(kind="timeout", message=message, limit=limit)
                self._fail(flight, fault, now=now)
            else:
                self._backlog.give_back(flight.task)
        worker.flights.clear()
        self._sweep = True
        self._pool.end(worker, fault=fault)

    def _gone(self, worker: WorkerProcess, end: WorkerEnd, *, now: float) -> None:
        flights = list(worker.flights.values())
        worker.flights.clear()
        for flight in flights:
            self._land(flight)
        self._sweep = True
        if worker.fault is UNNEEDED:
            return
        if not worker.ready:
            self._pool.start_failed(worker.fault or fault_of(end, doing="was starting"), tail=end.tail, now=now)
        elif not worker.asked:
            fault = worker.fault or fault_of(end, doing="waited for its first question")
            self._pool.start_failed(fault, tail=end.tail, now=now)
        elif len(flights) == 1:
            fault = worker.fault or fault_of(end, doing="worked on this question")
            self._backlog.convict(flights[0].task)
            self._fail(flights[0], fault, now=worker.ended_at)
        elif flights:
            logger.warning(
                "Worker %s ended with %d questions in flight; they are asked one by one.", worker.name, len(flights)
            )
            self._backlog.suspect([flight.task for flight in flights])

    # Waiting

    def _wait(self, now: float, *, uncounted: bool) -> None:
        for key, _ in self._selector.select(max(0.0, self._wake_at(now, uncounted=uncounted) - now)):
            if key.data is None:
                self._stop.drain()
            elif key.data.ended:
                continue  # an earlier event of this round ended it
            elif key.fd == key.data.stdin:
                self._send(key.data)
            else:
                self._receive(key.data)

    def _wake_at(self, now: float, *, uncounted: bool) -> float:
        if now >= self._next_look:
            self._next_look = now + TICK
            for worker in [one for one in self._pool.workers if one.has_ended()]:
                self._pool.end(worker)
        limit = self._policy.worker_ready_timeout_sec
        times = [self._next_look, *(worker.started + limit for worker in self._pool.starting)]
        if self._in_order:
            times.append(self._in_order[0].deadline)
        if self._backlog.next_due is not None:
            times.append(self._backlog.next_due)
        times += [at for at in (self._next_hand_out, self._pool.next_start) if at > now]
        if self._stop_deadline is not None:
            times.append(self._stop_deadline)
        if uncounted:
            times.append(now + COUNT_SEC)
        return min(times)
