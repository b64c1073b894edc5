"""Discrete events: the time, the processes that live in it, and what these share. Touches no clock.

`Simulation` holds the time and the processes: generators that yield what they wait for. `Cpu`, `Slots` and `Rate` are
what they share.
"""

import heapq
from collections.abc import Callable, Generator

Resume = Callable[[], None]
Wait = Callable[[Resume], None]
"""What a process yields: called with what lets it go on, which is to be called once."""
Process = Generator[Wait, None, None]

INSTANT = 1e-9
"""Seconds below which two times are one."""


class Simulation:
    """The time, in seconds, and what happens next."""

    def __init__(self) -> None:
        self.now = 0.0
        self._next: list[tuple[float, int, Resume]] = []
        self._count = 0

    def at(self, time: float, action: Resume) -> None:
        """Have `action` happen at `time`; what comes first at one time happens first."""
        self._count += 1
        heapq.heappush(self._next, (time, self._count, action))

    def start(self, process: Process, *, then: Resume | None = None) -> None:
        """Run a process from now on; `then` is called at its end."""

        def resume() -> None:
            try:
                wait = next(process)
            except StopIteration:
                if then is not None:
                    then()
            else:
                wait(resume)

        resume()

    def wait(self, seconds: float) -> Wait:
        """Wait so long."""
        return lambda resume: self.at(self.now + seconds, resume)

    def all_of(self, processes: list[Process]) -> Wait:
        """Run processes side by side, and wait for the last one."""

        def begin(resume: Resume) -> None:
            left = len(processes)

            def ended() -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    resume()

            if not processes:
                resume()
            for process in processes:
                self.start(process, then=ended)

        return begin

    def run(self) -> float:
        """Let everything happen. Returns the time of the last event."""
        while self._next:
            self.now, _, action = heapq.heappop(self._next)
            action()
        return self.now


class Cpu:
    """Cores that all who work share evenly; one who works takes one core at most."""

    def __init__(self, simulation: Simulation, cores: float) -> None:
        self._simulation = simulation
        self.cores = cores
        self.used = 0.0
        """Seconds of work done so far."""
        self._done = 0.0
        self._since = 0.0
        self._jobs: list[tuple[float, int, Resume]] = []
        self._count = 0
        self._turn = 0

    def work(self, seconds: float) -> Wait:
        """Wait until so many seconds of work are done."""

        def begin(resume: Resume) -> None:
            self._advance()
            self._count += 1
            heapq.heappush(self._jobs, (self._done + seconds, self._count, resume))
            self._plan()

        return begin

    def _rate(self) -> float:
        return min(1.0, self.cores / len(self._jobs))

    def _advance(self) -> None:
        """Bring what each of the jobs has been given up to now."""
        if self._jobs:
            given = (self._simulation.now - self._since) * self._rate()
            self._done += given
            self.used += given * len(self._jobs)
        self._since = self._simulation.now

    def _plan(self) -> None:
        self._turn += 1
        if self._jobs:
            turn = self._turn
            left = max(0.0, self._jobs[0][0] - self._done) / self._rate()
            self._simulation.at(self._simulation.now + left, lambda: self._finish(turn))

    def _finish(self, turn: int) -> None:
        if turn != self._turn:  # others came or went meanwhile, and the end was planned anew
            return
        self._advance()
        ended = []
        while self._jobs and self._jobs[0][0] <= self._done + INSTANT:
            ended.append(heapq.heappop(self._jobs)[2])
        self._plan()
        for resume in ended:
            resume()


class Slots:
    """Room for so many at once; the others wait in a row."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[Resume] = []
        self._first = 0

    def take(self) -> Wait:
        """Wait for a place."""

        def begin(resume: Resume) -> None:
            if self._free:
                self._free -= 1
                resume()
            else:
                self._waiting.append(resume)

        return begin

    def give(self) -> None:
        """Leave a place to who waits for longest."""
        if self._first == len(self._waiting):
            self._free += 1
            return
        resume = self._waiting[self._first]
        self._first += 1
        resume()


class Rate:
    """So many a second, evenly spaced; infinity for no limit."""

    def __init__(self, simulation: Simulation, per_second: float) -> None:
        self._simulation = simulation
        self.per_second = per_second
        self.taken = 0
        self._next = 0.0

    def take(self, count: int = 1) -> Wait:
        """Wait for the turn of `count` of them."""

        def begin(resume: Resume) -> None:
            start = max(self._simulation.now, self._next)
            self._next = start + count / self.per_second
            self.taken += count
            if start > self._simulation.now:
                self._simulation.at(start, resume)
            else:
                resume()

        return begin
