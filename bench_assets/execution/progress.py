"""How far the asking is, and what came of it."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bench_assets.contracts.answer import SettledExecution
from bench_assets.execution.journal import Journal

EVERY_SEC = 0.1
"""Least seconds between two reports of progress."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Counts of one `Engine.run`, a few times a second. What is settled is also durable."""

    shard: str
    settled: int
    """answered + errors."""
    answered: int
    errors: int
    in_flight: int
    """Handed out, not yet settled."""
    waiting_for_retry: int
    """Failed, and in the pause before their next attempt."""
    workers: int
    """Started and not ended; those that are not ready yet are among them."""


@dataclass(frozen=True, kw_only=True)
class ShardResult:
    """What one `Engine.run` did. Everything counted here is durable in the journal."""

    shard: str
    answered: int
    """Executions that ended with an answer."""
    errors: dict[str, int] = field(default_factory=dict)
    """Executions that ended with an error, by its kind."""
    attempts: int
    """Questions handed out, the repeated ones included."""
    worker_starts: int
    """Worker processes started."""

    @property
    def settled(self) -> int:
        """Executions that ended."""
        return self.answered + sum(self.errors.values())


class Tally:
    """Counts settled executions once they are durable, and reports."""

    def __init__(self, journal: Journal, *, shard: str, on_event: Callable[[Progress], None] | None) -> None:
        """`on_event` is called from the thread that runs the engine; None reports to nobody."""
        self._journal = journal
        self._shard = shard
        self._on_event = on_event
        self._before = journal.durable()
        self._uncounted: deque[str | None] = deque()
        self._reported_at = 0.0
        self.answered = 0
        self.errors: Counter[str] = Counter()
        self.attempts = 0

    def settle(self, record: SettledExecution) -> None:
        """Append a record to the journal."""
        self._journal.append(record)
        self._uncounted.append(None if record.error is None else record.error.kind)

    def count(self) -> bool:
        """Count what became durable; return whether anything is still on its way."""
        if self._uncounted:
            for _ in range(self._journal.durable() - self._before):
                self._before += 1
                kind = self._uncounted.popleft()
                if kind is None:
                    self.answered += 1
                else:
                    self.errors[kind] += 1
        return bool(self._uncounted)

    def report(self, now: float, *, in_flight: int, waiting_for_retry: int, workers: int, last: bool = False) -> None:
        """Call `on_event`, unless that was done a moment ago and this is not the `last` time."""
        if self._on_event is None or (now < self._reported_at + EVERY_SEC and not last):
            return
        self._reported_at = now
        errors = self.errors.total()
        self._on_event(
            Progress(
                shard=self._shard,
                settled=self.answered + errors,
                answered=self.answered,
                errors=errors,
                in_flight=in_flight,
                waiting_for_retry=waiting_for_retry,
                workers=workers,
            )
        )

    def result(self, *, worker_starts: int) -> ShardResult:
        """Return what was counted."""
        return ShardResult(
            shard=self._shard,
            answered=self.answered,
            errors=dict(self.errors),
            attempts=self.attempts,
            worker_starts=worker_starts,
        )
