"""Executions that wait to be handed out."""

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

from bench_assets.contracts.answer import Attempt, OpenExecution


@dataclass(slots=True, eq=False)
class Task:
    """One open execution, and what happened to it so far."""

    execution: OpenExecution
    attempts: list[Attempt]
    """Evidence, those of earlier processes first."""
    failures: int = 0
    """Failed attempts of this process."""
    backoff: float = 0.0
    """Seconds of pause before the next attempt."""
    alone: bool = False
    """Must not share a worker with others while it runs: it ended one, or was there when one ended."""
    suspects: list["Task"] = field(default_factory=list)
    """Those that were in flight together when their worker ended, this one included."""


class Backlog:
    """Hands out tasks: first those that come back, then those whose pause is over, then new ones."""

    def __init__(self, executions: Iterable[OpenExecution]) -> None:
        """`executions` is read as tasks are taken, never ahead by more than a worker's share."""
        self._source = iter(executions)
        self._fresh: deque[Task] = deque()
        self._back: deque[Task] = deque()
        self._alone: deque[Task] = deque()
        self._paused: list[tuple[float, int, Task]] = []
        self._order = count()

    def take(self, now: float, *, idle: bool) -> Task | None:
        """Return the next task for a worker; None when there is none for it now. `idle`: it has nothing in flight."""
        if self._paused:
            self._resume(now)
        if idle and self._alone:
            return self._alone.popleft()
        if self._back:
            return self._back.popleft()
        return self._fresh.popleft() if self._fresh or self._fetch(1) else None

    def waiting(self, now: float, *, enough: int) -> int:
        """Return how many tasks could be handed out now, counting to about `enough`."""
        self._resume(now)
        ready = len(self._back) + len(self._alone)
        if ready + len(self._fresh) < enough:
            self._fetch(enough - ready - len(self._fresh))
        return ready + len(self._fresh)

    def give_back(self, task: Task) -> None:
        """Take back a task whose attempt does not count."""
        (self._alone if task.alone else self._back).append(task)

    def pause(self, task: Task, *, until: float) -> None:
        """Take back a task whose next attempt begins at the earliest at `until`."""
        heapq.heappush(self._paused, (until, next(self._order), task))

    def suspect(self, tasks: list[Task]) -> None:
        """Take back tasks of which one, nobody knows which, ended their worker: they are asked again one by one.

        Without that the one would take the same others down with it each time.
        """
        for task in tasks:
            task.alone = True
            task.suspects = tasks
            self._alone.append(task)

    def convict(self, task: Task) -> None:
        """Note that `task` ended a worker all by itself: the others that were suspected with it are free again."""
        task.alone = True
        for other in task.suspects:
            if other is not task and other in self._alone:
                other.alone = False
                self._alone.remove(other)
                self._back.append(other)
            other.suspects = []

    @property
    def paused(self) -> int:
        """How many are in the pause before their next attempt."""
        return len(self._paused)

    @property
    def next_due(self) -> float | None:
        """When the next pause is over; None when nothing pauses."""
        return self._paused[0][0] if self._paused else None

    def is_empty(self) -> bool:
        """Return whether nothing is left to hand out, now or later."""
        return not (self._back or self._alone or self._paused or self._fresh or self._fetch(1))

    def _resume(self, now: float) -> None:
        while self._paused and self._paused[0][0] <= now:
            self.give_back(heapq.heappop(self._paused)[2])

    def _fetch(self, number: int) -> bool:
        for execution in self._source:
            self._fresh.append(Task(execution, list(execution.attempts)))
            number -= 1
            if number <= 0:
                break
        return bool(self._fresh)
