"""So many calls at once, and the next one the moment that one ends."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Lanes(Generic[Result]):
    """Runs calls in the order in which they came, at most so many at a time. Belongs to one event loop.

    A lane goes from the end of one call to the start of the next without giving the loop away. With a semaphore, calls
    that end together would take turns at every step, and all of their followers start late.
    """

    def __init__(self, most: int) -> None:
        """`most` is how many calls run at once."""
        self._most = most
        self._open = 0
        self._lanes: set[asyncio.Task[None]] = set()
        self._waiting: deque[
            tuple[Callable[[], Awaitable[Result] | None], Callable[[Result | BaseException], None]]
        ] = deque()

    def start(
        self, call: Callable[[], Awaitable[Result] | None], then: Callable[[Result | BaseException], None]
    ) -> None:
        """Run `call` when its turn comes; `then` is told its result, or what it raised.

        `call` may return None when its turn comes: then it was not wanted any more, and nobody is told.
        """
        self._waiting.append((call, then))
        if self._open < self._most:
            self._open += 1
            lane = asyncio.ensure_future(self._lane())
            self._lanes.add(lane)  # the loop itself holds tasks only weakly
            lane.add_done_callback(self._lanes.discard)

    async def _lane(self) -> None:
        try:
            while self._waiting:
                call, then = self._waiting.popleft()
                try:
                    begun = call()
                    if begun is None:
                        continue
                    result: Result | BaseException = await begun
                except asyncio.CancelledError as error:
                    then(error)
                    raise
                except Exception as error:
                    result = error
                then(result)
        finally:
            self._open -= 1  # here, not in a callback: what is started before that one runs would find no lane
