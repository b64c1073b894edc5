"""One thread that makes lines durable, as many at once as are waiting."""

import threading
import time
from collections.abc import Callable, Sequence

from bench_assets.errors import BenchError, StorageFailed

MOST_WAITING = 8 << 20
"""Bytes that may wait; `put` then waits too. Keeps a slow disk from filling the memory."""


class GroupCommit:
    """Hands waiting lines, in order, to `commit`, from a thread of its own. The first failure is the last word."""

    def __init__(self, commit: Callable[[Sequence[bytes]], None], *, rows: int, seconds: float, name: str) -> None:
        """Commit as soon as `rows` lines are waiting, or the first of them has waited `seconds`.

        `commit` returns when the lines are durable, or raises a BenchError.
        """
        self._commit = commit
        self._rows = rows
        self._seconds = seconds
        self._changed = threading.Condition()
        self._waiting: list[bytes] = []
        self._size = 0
        self._since = 0.0
        self._put = 0
        self._durable = 0
        self._hurry = False
        self._closed = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Take a line on. Raises what an earlier commit raised."""
        with self._changed:
            while self._size > MOST_WAITING and self._failure is None:
                self._changed.wait()
            self._raise_failure()
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(line)
            self._size += len(line)
            self._put += 1
            if len(self._waiting) in (1, self._rows):
                self._changed.notify_all()

    def durable(self) -> int:
        """Return how many lines are durable. Raises what a commit raised."""
        if self._failure is not None:
            self._raise_failure()
        return self._durable

    def flush(self) -> None:
        """Wait until all lines put so far are durable. Raises what a commit raised."""
        with self._changed:
            goal = self._put
            self._hurry = True
            self._changed.notify_all()
            while self._durable < goal and self._failure is None:
                self._changed.wait()
            self._raise_failure()

    def close(self) -> None:
        """Commit what waits and end the thread. Raises what a commit raised."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        self._commit = _nowhere  # whoever commits holds this one, and would not go as long as this one holds it
        self._raise_failure()

    def _raise_failure(self) -> None:
        failure = self._failure
        if isinstance(failure, BenchError):
            raise type(failure)(str(failure)) from failure
        if failure is not None:
            raise StorageFailed(f"The journal's writer broke: {failure!r}.") from failure

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._due():
                    if self._closed and not self._waiting:
                        return
                    left = self._since + self._seconds - time.monotonic() if self._waiting else None
                    self._changed.wait(left)
                lines, self._waiting = self._waiting, []
                self._hurry = False
            try:
                self._commit(lines)
            except BaseException as failure:
                with self._changed:
                    self._failure = failure
                    self._changed.notify_all()
                return
            with self._changed:
                self._durable += len(lines)
                self._size -= sum(map(len, lines))
                self._changed.notify_all()

    def _due(self) -> bool:
        if not self._waiting:
            return False
        if self._hurry or self._closed or len(self._waiting) >= self._rows:
            return True
        return self._size > MOST_WAITING // 8 or time.monotonic() >= self._since + self._seconds


def _nowhere(lines: Sequence[bytes]) -> None:
    raise StorageFailed(f"{len(lines)} lines came after the journal was closed.")
