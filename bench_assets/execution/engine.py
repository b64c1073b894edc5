"""Asks an agent's workers everything they are to be asked, and keeps every answer."""

import logging
import selectors
import time
from collections.abc import Callable, Iterable

from bench_assets.closing import Closing
from bench_assets.contracts.answer import OpenExecution
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.errors import Interrupted
from bench_assets.execution.asking import Asking
from bench_assets.execution.backlog import Backlog
from bench_assets.execution.journal import Journal
from bench_assets.execution.launch import WorkerLaunch
from bench_assets.execution.messages import AgentIdentity
from bench_assets.execution.pool import WorkerPool
from bench_assets.execution.progress import Progress, ShardResult, Tally
from bench_assets.execution.stop_request import StopRequest

__all__ = ["AgentIdentity", "Engine", "Progress", "ShardResult"]

logger = logging.getLogger(__name__)


class Engine(Closing):
    """Holds an agent's workers over any number of `run` calls: a heavy agent starts once for all shards.

    `run` and `close` are called from one thread at a time, which may be any, `stop` from anywhere. No signal handler is
    installed and no child process of others is waited for.
    """

    def __init__(
        self,
        launch: WorkerLaunch,
        *,
        policy: ExecutionPolicy,
        on_event: Callable[[Progress], None] | None = None,
        on_agent: Callable[[AgentIdentity], None] | None = None,
        stop_grace_sec: float = 10.0,
    ) -> None:
        """Start nothing yet: workers start with the first open execution.

        Args:
            launch: what workers are started with.
            policy: how hard, how long and how often they are asked.
            on_event: called with counts up to ten times a second from within `run`, and at its end. What it raises ends
                the run.
            on_agent: called once, when the first worker is ready and before it is asked anything. What it raises ends
                the run.
            stop_grace_sec: seconds that questions in flight get after `stop`.
        """
        self.agent: AgentIdentity | None = None
        """Who answers; None before the first worker was ready."""
        self._launch = launch
        self._policy = policy
        self._on_event = on_event
        self._on_agent = on_agent
        self._stop_grace_sec = stop_grace_sec
        self._stop = StopRequest()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stop.awake, selectors.EVENT_READ, None)
        self._pool = WorkerPool(launch, policy=policy, selector=self._selector, wake=self._stop.wake)
        self._agent_changed = False
        self._running = False
        self._closed = False

    def run(self, executions: Iterable[OpenExecution], *, journal: Journal, shard: str) -> ShardResult:
        """Ask all `executions` and return when each is settled: answered, or out of attempts. Durable in `journal`.

        `executions` is read as it is needed, and answers are not held. Attempts of earlier processes, which an open
        execution brings along, stay in its record and keep their numbers; the budget of retries begins anew.

        Raises:
            WorkerFailed: no worker became ready. What was not asked stays open.
            Interrupted: after `stop`. What was in flight and not answered within the grace stays open; nothing is
                settled by half.
            StorageFailed: the journal failed; everything durable by then is intact.
        """
        if self._running or self._closed:
            raise RuntimeError("the engine is running already" if self._running else "the engine is closed")
        tally = Tally(journal, shard=shard, on_event=self._on_event)
        asking = Asking(
            Backlog(executions),
            pool=self._pool,
            selector=self._selector,
            tally=tally,
            stop=self._stop,
            policy=self._policy,
            kwargs=self._launch.kwargs,
            run_id=self._launch.run_id,
            shard=shard,
            stop_grace_sec=self._stop_grace_sec,
            on_ready=self._note_agent,
        )
        starts_before = self._pool.starts
        self._running = True
        try:
            complete = asking.go()
        finally:
            # Whatever is still in flight now, after a stop or an error, is given up: nobody could tell its answer from
            # one to the next run's questions.
            self._pool.abandon_flights(hurry=self._stop.count > 1)
            self._running = False
        journal.flush()
        tally.count()
        asking.report(time.monotonic(), last=True)
        result = tally.result(worker_starts=self._pool.starts - starts_before)
        if not complete:
            raise Interrupted(
                f"Stopped on request in shard `{shard}`: {result.settled} executions were settled and are kept. "
                "Materialize the shard again to go on from there."
            )
        return result

    def stop(self) -> None:
        """Hand out nothing more, give what is in flight a bounded time, then end the workers; `run` raises Interrupted.

        A second call does not wait for what is in flight. Safe in signal handlers and other threads; lasting: a later
        `run` raises at once.
        """
        self._stop.make()

    def close(self) -> None:
        """End all workers and everything they started. Blocks for 15 seconds at most; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._pool.close()
            self._selector.close()
            self._stop.close()

    def _note_agent(self, agent: AgentIdentity) -> None:
        if self.agent is None:
            self.agent = agent
            if self._on_agent is not None:
                self._on_agent(agent)
        elif agent != self.agent and not self._agent_changed:
            self._agent_changed = True
            logger.warning(
                "A worker describes the agent differently than the first one did: %r, before %r. The answers of this "
                "run come from different agents, or `describe()` holds something that changes by itself.",
                agent,
                self.agent,
            )
