"""The workers of an engine: started as they are needed, ended in the background, replaced within limits."""

import logging
import queue
import selectors
import threading
import time
from collections.abc import Callable

from bench_assets.contracts.answer import ErrorInfo
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.errors import WorkerFailed
from bench_assets.execution.launch import WorkerLaunch
from bench_assets.execution.messages import redacted
from bench_assets.execution.orphans import sweep_orphans
from bench_assets.execution.worker_log import LogDrain
from bench_assets.execution.worker_process import WorkerEnd, WorkerProcess
from bench_assets.redaction import Redactor

FAILED_STARTS = 3
"""So many starts in a row without one that became ready are enough to stop."""
UNNEEDED = ErrorInfo(kind="killed", message="the worker was not needed any more")
"""The fault of a worker that has none: we end it, and nothing follows from that."""
HOPELESS = frozenset({"import_error", "no_entry_point", "init_error"})
"""Failed starts that another start repeats, as long as no worker ever became ready."""


LONGEST_PAUSE = 60.0
"""Seconds between two starts, at most."""
_ADVICE = {
    "import_error": "Add what is missing to the agent's own dependencies or to `extra_deps`, or correct its code.",
    "no_entry_point": "Name one of those, or give an import path.",
    "init_error": "Its traceback says where; the variables it may see are those of its `env` in agents.yaml.",
    "ready_timeout": "Raise the limit if it needs longer to start.",
}

logger = logging.getLogger(__name__)


class WorkerPool:
    """Holds the workers. Used by the engine's thread alone; only the ends of workers run in threads of their own."""

    def __init__(
        self,
        launch: WorkerLaunch,
        *,
        policy: ExecutionPolicy,
        selector: selectors.BaseSelector,
        wake: Callable[[], None],
    ) -> None:
        """`wake` is called, from another thread, when a worker is gone; until then `selector` watches its pipes."""
        self._launch = launch
        self._policy = policy
        self._selector = selector
        self._wake = wake
        self.redact = Redactor()
        """Takes the agent's secrets, as far as its variables' names tell them, out of text."""
        self.redact.add_variables(launch.env)
        self._drain = LogDrain(launch.log_dir, redact=self.redact)
        self._gone: queue.SimpleQueue[tuple[WorkerProcess, WorkerEnd]] = queue.SimpleQueue()
        self._endings: dict[WorkerProcess, threading.Thread] = {}
        self._last_number = 0
        self._failed_starts = 0
        self._ever_ready = False
        self.workers: list[WorkerProcess] = []
        """Started, and not being ended."""
        self.starting: list[WorkerProcess] = []
        """Those of them that are not ready."""
        self.starts = 0
        """Processes started so far."""
        self.next_start = 0.0
        """time.monotonic() before which none is started, because the last one failed."""

    @property
    def size(self) -> int:
        """Workers that exist: a replacement is only started when its predecessor is gone."""
        return len(self.workers) + len(self._endings)

    def may_grow(self, now: float) -> bool:
        """Return whether another worker can be started."""
        return self.size < self._policy.parallelism and now >= self.next_start

    def start(self, *, shard: str, now: float) -> None:
        """Start a worker; it is in `workers`, and not ready. Raises WorkerFailed when there is no such program."""
        if not self.starts:
            sweep_orphans()
        log, self._last_number = self._drain.new_log(shard=shard, number=self._last_number + 1)
        try:
            worker = WorkerProcess(self._launch, log=log, drain=self._drain, redact=self.redact, now=now)
        except OSError as error:
            raise WorkerFailed(
                f"The agent's interpreter `{self._launch.python}` could not be started: {error.strerror}. Build the "
                "environment again (`--invalidate-agent-cache`).",
                kind="crash",
            ) from error
        worker.capacity = self._policy.concurrency
        self.starts += 1
        self.workers.append(worker)
        self.starting.append(worker)
        self._selector.register(worker.stdout, selectors.EVENT_READ, worker)

    def became_ready(self, worker: WorkerProcess, *, concurrent: bool) -> None:
        """Note that a worker can be asked."""
        worker.ready = True
        self.starting.remove(worker)
        if not concurrent and self._policy.concurrency > 1 and not self._ever_ready:
            logger.warning(
                "`concurrency: %d` has no effect: the adapter's `run` is not async, so each worker is asked one thing "
                "at a time. Raise `parallelism` instead.",
                self._policy.concurrency,
            )
        worker.concurrent = concurrent
        worker.capacity = self._policy.concurrency if concurrent else 1
        self._ever_ready = True
        self._failed_starts = 0

    def send(self, worker: WorkerProcess) -> None:
        """Send what is queued; what the pipe does not take follows when it does. Raises BrokenPipeError."""
        sent = worker.send()
        if sent and worker.is_full:
            self._selector.unregister(worker.stdin)
        elif not sent and not worker.is_full:
            self._selector.register(worker.stdin, selectors.EVENT_WRITE, worker)
        worker.is_full = not sent

    def end(self, worker: WorkerProcess, *, fault: ErrorInfo | None = None, gently: bool = False) -> None:
        """Begin a worker's end; `gone` tells when it is over. `fault` is why we end it; None where it ended itself."""
        worker.fault = fault
        worker.ended = True
        worker.ended_at = time.monotonic()
        self.workers.remove(worker)
        if not worker.ready:
            self.starting.remove(worker)
        self._selector.unregister(worker.stdout)
        if worker.is_full:
            self._selector.unregister(worker.stdin)
        thread = threading.Thread(target=self._finish, args=(worker, gently), name=f"end-{worker.name}", daemon=True)
        self._endings[worker] = thread
        thread.start()

    def gone(self) -> list[tuple[WorkerProcess, WorkerEnd]]:
        """Return the workers that are gone since the last call, and how they ended."""
        found = []
        while not self._gone.empty():
            worker, end = self._gone.get()
            self._endings.pop(worker).join()
            found.append((worker, end))
        return found

    def start_failed(self, fault: ErrorInfo, *, tail: str, now: float) -> None:
        """Note a worker that ended before it was ready. Raises WorkerFailed when there is no point in going on."""
        fault = redacted(fault, self.redact)
        self._failed_starts += 1
        # While others work, another start is tried less and less often.
        self.next_start = now + min(0.5 * 2.0 ** (self._failed_starts - 1), LONGEST_PAUSE)
        hopeless = fault.kind in HOPELESS and not self._ever_ready
        if hopeless or (self._failed_starts >= FAILED_STARTS and not any(worker.ready for worker in self.workers)):
            starts = "" if hopeless else f" in {self._failed_starts} starts"
            last = "\n".join(filter(None, (fault.traceback, tail if tail != fault.traceback else "")))
            advice = _ADVICE.get(fault.kind, "Its whole output is in its log.")
            raise WorkerFailed(
                f"No worker of the agent became ready{starts}: {fault.message}. {advice}",
                kind=fault.kind,
                stderr_tail=last,
            )
        logger.warning("A worker did not become ready, another start follows: %s.", fault.message)

    def abandon_flights(self, *, hurry: bool) -> None:
        """End the workers that still work on something, and forget what that was.

        An async adapter hears of it, unless in a `hurry`: its `run` is cancelled and its `close` called. A plain one is
        deaf until its `run` returns.
        """
        for worker in [one for one in self.workers if one.flights]:
            self.end(worker, fault=UNNEEDED, gently=worker.concurrent and not hurry)
        for worker in self._endings:
            worker.flights.clear()

    def close(self) -> None:
        """End all workers at once, those that work on nothing gently. Blocks for up to about 15 seconds."""
        for worker in list(self.workers):
            idle = worker.ready and not worker.flights
            self.end(worker, fault=UNNEEDED, gently=idle)
        for thread in list(self._endings.values()):
            thread.join()
        self.gone()
        self._drain.close()

    def _finish(self, worker: WorkerProcess, gently: bool) -> None:
        try:
            end = worker.finish(gently=gently)
        except Exception as error:  # whatever it is, the loop must hear of the end
            logger.exception("Worker %s could not be ended in order", worker.name)
            end = WorkerEnd(returncode=-9, by_itself=False, tail=repr(error))
        self._gone.put((worker, end))
        self._wake()
