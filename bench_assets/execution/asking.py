"""One run of the engine: the loop.

It belongs to the thread that calls it, and waits in one `select` for replies, for the ends of workers, for the clock
and for a request to stop; nothing else in it blocks. Asyncio is not used: the caller may well be inside an event loop
of its own, and a question would cost several times as much.
"""

import selectors
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench_assets.contracts.answer import ErrorInfo
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.execution.backlog import Backlog, Task
from bench_assets.execution.flights import Flights
from bench_assets.execution.messages import (
    CANCEL,
    AgentIdentity,
    ProtocolViolation,
    ask_line,
    error_of,
    identity_of,
    read_message,
)
from bench_assets.execution.pool import UNNEEDED, WorkerPool
from bench_assets.execution.progress import Tally
from bench_assets.execution.stop_request import StopRequest
from bench_assets.execution.worker_process import WorkerProcess

TICK = 1.0
"""Seconds between looks at what no event tells: a worker that ended while something else holds its pipes open."""
QUICK_SEC = 0.005
"""An agent that took less for its last answer is handed the next question ahead of its turn, so that it never waits
for us between two."""
VERY_QUICK_SEC, MANY = 0.0005, 16
"""One that took less for every answer lately is handed so many ahead: then messages share the calls that move them."""
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
        self._flights = Flights(backlog=backlog, tally=tally, pool=pool, policy=policy)
        self._next_hand_out = 0.0
        self._next_look = 0.0
        self._sweep = True
        """True when workers that have nothing to do may find something now."""

    def go(self) -> bool:
        """Ask until everything is settled; return False when a stop came before that.

        Raises WorkerFailed when no worker becomes ready, StorageFailed when the journal fails.
        """
        self._handle_events(timeout=0)  # workers that ended since the last run are not to be asked
        while True:
            now = time.monotonic()
            for worker, end in self._pool.gone():
                self._flights.gone(worker, end, now=now, stopping=self._stop.count > 0)
                self._sweep = True
            self._sweep |= self._flights.expire(now)
            self._expire_starts(now)
            if self._stop.count:
                if self._is_stopped(now):
                    return not self._flights.count and self._backlog.is_empty()
            else:
                self._hand_out(now)
                if not self._flights.count and self._backlog.is_empty():
                    return True
            uncounted = self._tally.count()
            self.report(now)
            self._handle_events(timeout=max(0.0, self._wake_at(now, uncounted=uncounted) - now))

    def report(self, now: float, *, last: bool = False) -> None:
        """Tell how far it is."""
        self._tally.report(
            now,
            in_flight=self._flights.count,
            waiting_for_retry=self._backlog.paused,
            workers=len(self._pool.workers),
            last=last,
        )

    def _is_stopped(self, now: float) -> bool:
        if self._stop_deadline is None:
            self._stop_deadline = now + self._stop_grace_sec
            for worker in [one for one in self._pool.workers if not one.concurrent]:
                for request in list(worker.flights)[1:]:
                    worker.queue(CANCEL % request)
                self._send(worker)
        return not self._flights.count or self._stop.count > 1 or now >= self._stop_deadline

    # Handing out

    def _hand_out(self, now: float) -> None:
        due = self._backlog.next_due
        if self._sweep or (due is not None and due <= now) or self._next_hand_out:
            self._sweep = False
            for worker in list(self._pool.workers):
                self._feed(worker, now)
        while self._pool.may_grow(now):
            free = (one.capacity - len(one.flights) for one in self._pool.workers if one.company is None)
            room = sum(free)
            if self._backlog.waiting(now, enough=room + 1) <= room:
                break
            self._pool.start(shard=self._shard, now=now)

    def _feed(self, worker: WorkerProcess, now: float) -> None:
        if not worker.ready or self._stop.count:
            return
        fed = False
        while len(worker.flights) < self._room(worker, now) and now >= self._next_hand_out:
            if self._policy.questions_per_worker is not None and worker.asked >= self._policy.questions_per_worker:
                if not worker.flights:
                    self._pool.end(worker, fault=UNNEEDED, gently=True)
                break
            task = self._backlog.take(now, idle=not worker.flights, company=worker.company)
            if task is None:
                break
            self._ask(worker, task, now)
            fed = True
        if fed:
            self._send(worker)

    def _room(self, worker: WorkerProcess, now: float) -> int:
        """Return how many may be in flight at a worker."""
        if worker.company is not None or worker.concurrent or worker.pace > QUICK_SEC or self._next_hand_out:
            return worker.company or worker.capacity
        # Not near the end, where one that waits for its turn could be with a worker that has nothing to do.
        ahead = MANY if worker.slowest < VERY_QUICK_SEC else 1
        plenty = 2 * ahead * self._policy.parallelism
        return worker.capacity + (ahead if self._backlog.waiting(now, enough=plenty) >= plenty else 0)

    def _ask(self, worker: WorkerProcess, task: Task, now: float) -> None:
        request = self._flights.begin(worker, task, now=now)
        if self._policy.min_start_interval_sec:
            self._next_hand_out = now + self._policy.min_start_interval_sec
        number = len(task.attempts) + 1
        worker.queue(ask_line(request, task.execution, kwargs=self._kwargs, run_id=self._run_id, attempt=number))

    def _send(self, worker: WorkerProcess) -> None:
        try:
            self._pool.send(worker)
        except BrokenPipeError:
            self._pool.end(worker)

    # What workers say

    def _receive(self, worker: WorkerProcess) -> None:
        now = time.monotonic()
        try:
            lines = worker.receive()
            if lines is None:
                self._pool.end(worker)
                return
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
            self._flights.take_reply(worker, message, now=now)
        elif worker.ready:
            raise ProtocolViolation(f"sent `{kind}` when it was ready already")
        elif kind == "ready":
            self._on_ready(identity_of(message))
            self._pool.became_ready(worker, concurrent=message["concurrent"])
        else:
            self._pool.end(worker, fault=error_of(message))

    def _expire_starts(self, now: float) -> None:
        if not self._pool.starting:
            return
        limit = self._policy.worker_ready_timeout_sec
        setting = f"worker_ready_timeout_sec={limit:g}"
        for worker in [one for one in self._pool.starting if now >= one.started + limit]:
            message = f"it was not ready after {now - worker.started:.1f} s; the limit is {setting}"
            self._pool.end(worker, fault=ErrorInfo(kind="ready_timeout", message=message, limit=setting))

    # Waiting

    def _handle_events(self, *, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
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
        known = (self._flights.next_deadline, self._backlog.next_due, self._stop_deadline)
        times += [at for at in known if at is not None]
        times += [at for at in (self._next_hand_out, self._pool.next_start) if at > now]
        if uncounted:
            times.append(now + COUNT_SEC)
        return min(times)
