"""Telling the engine's loop something from a signal handler or another thread."""

import contextlib
import os


class StopRequest:
    """A counted request to stop, and a pipe that wakes the loop. No locks: a signal handler may interrupt anything."""

    def __init__(self) -> None:
        """Open the pipe."""
        self.count = 0
        """0: go on; 1: finish what is in flight; more: don't wait for it."""
        self.awake, self._waker = os.pipe()
        os.set_blocking(self.awake, False)
        os.set_blocking(self._waker, False)
        self._closed = False

    def make(self) -> None:
        """Ask to stop; ask again to hurry."""
        self.count += 1
        self.wake()

    def wake(self) -> None:
        """Make `awake` readable."""
        if not self._closed:
            with contextlib.suppress(BlockingIOError):  # full: it is readable
                os.write(self._waker, b"x")

    def drain(self) -> None:
        """Make `awake` unreadable."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.awake, 512):
                pass

    def close(self) -> None:
        """Close the pipe; waking does nothing from now on."""
        self._closed = True
        os.close(self.awake)
        os.close(self._waker)
