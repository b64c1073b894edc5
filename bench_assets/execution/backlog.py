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
    company: int | None = None
    """So many may be in flight together on its worker, this one included, because one of them may be what ends workers.

    None: no limit; 1: it surely ends them.
    """
    suspects: list["Task"] = field(default_factory=list)
    """Those that were in flight together when their worker ended, this one included."""


class Backlog:
    """Hands out tasks: first those that come back, then those whose pause is over, then new ones."""

    def __init__(self, executions: Iterable[OpenExecution]) -> None:
        """`executions` is read as tasks are taken, never ahead by more than a worker's share."""
        self._source = iter(executions)
        self._fresh: deque[Task] = deque()
        self._back: deque[Task] = deque()
        self._suspects: deque[Task] = deque()
        self._paused: list[tuple[float, int, Task]] = []
        self._order = count()

    def take(self, now: float, *, idle: bool, company: int | None) -> Task | None:
        """Return the next task for a worker; None when there is none for it now.

        `idle`: it has nothing in flight. `company`: what it works on are suspects, and only more of them may join.
        """
        if self._paused:
            self._resume(now)
        if self._suspects and (idle or self._suspects[0].company == company):
            return self._suspects.popleft()
        if company is not None and not idle:
            return None
        if self._back:
            return self._back.popleft()
        return self._fresh.popleft() if self._fresh or self._fetch(1) else None

    def waiting(self, now: float, *, enough: int) -> int:
        """Return how many tasks could be handed out now, counting to about `enough`."""
        self._resume(now)
        ready = len(self._back) + len(self._suspects)
        if ready + len(self._fresh) < enough:
            self._fetch(enough - ready - len(self._fresh))
        return ready + len(self._fresh)

    def give_back(self, task: Task) -> None:
        """Take back a task whose attempt does not count."""
        (self._back if task.company is None else self._suspects).append(task)

    def pause(self, task: Task, *, until: float) -> None:
        """Take back a task whose next attempt begins at the earliest at `until`."""
        heapq.heappush(self._paused, (until, next(self._order), task))

    def suspect(self, tasks: list[Task]) -> None:
        """Take back tasks of which one, nobody knows which, ended their worker. Their attempts don't count.

        They are asked again in groups of a quarter, and of a quarter of that if it happens again, until the one is
        alone. Without that it would take the same others down with it each time; one by one would take too long where
        the memory for all of them together was what was missing.
        """
        for task in tasks:
            task.company = -(-len(tasks) // 4)
            task.suspects = task.suspects or tasks
            self._suspects.append(task)

    def convict(self, task: Task) -> None:
        """Note that `task` ended a worker all by itself: the others that were suspected with it are free again."""
        task.company = 1
        group, task.suspects = task.suspects, []
        for other in group:
            if other is not task and other in self._suspects:
                other.company, other.suspects = None, []
                self._suspects.remove(other)
                self._back.append(other)

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
        return not (self._back or self._suspects or self._paused or self._fresh or self._fetch(1))

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
