"""How a long step tells how far it is."""

import time
from collections.abc import Callable
from typing import Protocol


class Reporter(Protocol):
    """Takes the progress of one step at a time."""

    def start(self, title: str, *, total: int) -> None:
        """Begin something of `total` parts."""

    def advance(self, done: int, *, note: str = "") -> None:
        """Say that `done` parts of the total are done by now, with a few words on them."""

    def finish(self) -> None:
        """End what `start` began, complete or not."""

    def say(self, text: str) -> None:
        """Tell one finished fact."""

    def detail(self, text: str) -> None:
        """Tell one line that only matters when something goes wrong."""


class LogReporter:
    """Reports as log lines: at most one every `every_sec` seconds, and one at the end."""

    def __init__(
        self, say: Callable[[str], object], *, detail: Callable[[str], object], every_sec: float = 10.0
    ) -> None:
        self._say = say
        self._detail = detail
        self._every_sec = every_sec
        self._title = ""
        self._total = 0
        self._done = 0
        self._note = ""
        self._said_at = 0.0

    def start(self, title: str, *, total: int) -> None:
        """Note the title and the total; what ends quickly is one line, at its end."""
        self._title, self._total, self._done, self._note = title, total, 0, ""
        self._said_at = time.monotonic()

    def advance(self, done: int, *, note: str = "") -> None:
        """Log how far it is, unless that was logged a moment ago."""
        self._done, self._note = done, note
        if time.monotonic() - self._said_at >= self._every_sec:
            self._said_at = time.monotonic()
            self._say(self._line())

    def finish(self) -> None:
        """Log how far it came."""
        self._say(self._line())

    def say(self, text: str) -> None:
        """Log a fact."""
        self._say(text)

    def detail(self, text: str) -> None:
        """Log a detail."""
        self._detail(text)

    def _line(self) -> str:
        return f"{self._title}: {self._done} of {self._total} done" + (f" ({self._note})" if self._note else "")
