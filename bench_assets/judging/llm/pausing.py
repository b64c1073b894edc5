"""When an endpoint says "later": how long that is, and how every call to it waits."""

import asyncio
import math
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_BACKOFF = 30.0
"""Seconds. Past it more patience does not help; more tries do."""


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that a response asks to wait; None when it asks for none, or for nothing that can be read.

    Read are `retry-after-ms`, and Retry-After as seconds and as a date. A date counts from the response's own Date, so
    that a clock that is off, here or there, changes nothing; without one from `now` (default: this machine's clock).
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    until = _date(value)
    since = _date(headers.get("date", "")) or now or datetime.now(UTC)
    return None if until is None else max(0.0, (until - since).total_seconds())


def backoff(failures: int, *, first: float) -> float:
    """Return the seconds to wait after so many failures in a row: doubling, at most 30, with up to 25 % of jitter."""
    plain = min(LONGEST_BACKOFF, first * 2.0 ** min(failures - 1, 30))
    return plain * random.uniform(1.0, 1.25)


class PausedTooLong(Exception):
    """Raised when the endpoint wants a longer wait than the judge's settings allow."""

    def __init__(self, seconds: float, *, code: str) -> None:
        """`seconds` is how long it would still be, `code` what the endpoint answered when it asked for it."""
        super().__init__(f"{seconds:.0f} s")
        self.seconds = seconds
        self.code = code


class Pause:
    """One for all calls to an endpoint: whoever is told to wait makes everyone wait. Belongs to one event loop."""

    def __init__(self) -> None:
        self._until = 0.0
        self._code = ""

    def extend(self, seconds: float, *, code: str) -> None:
        """Let no call start for so many seconds, because of `code`. A longer pause that is on stays."""
        until = time.monotonic() + seconds
        if until > self._until:
            self._until, self._code = until, code

    async def over(self, *, at_most: float) -> float:
        """Wait until no pause is on and return the seconds that took. Raises PausedTooLong instead of a longer wait."""
        began = time.monotonic()
        while (left := self._until - time.monotonic()) > 0:  # it may be extended meanwhile
            if time.monotonic() - began + left > at_most:
                raise PausedTooLong(left, code=self._code)
            await asyncio.sleep(left)
        return time.monotonic() - began


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        value = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
