"""The bare limit: lines bounced through a pipe by two Python processes that do nothing else. Standard library only.

`python bare_pipe.py echo` is the far side: it answers each line with the line it was given first.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence


def bounce(asks: Sequence[bytes], reply: bytes) -> float:
    """Send each line and wait for `reply` to it; return the lines a second."""
    command = [sys.executable, "-S", __file__, "echo"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        there, back, size = echo.stdin.fileno(), echo.stdout.fileno(), len(reply)
        os.write(there, reply)
        _line(back)
        began = time.perf_counter()
        for ask in asks:
            os.write(there, ask)
            if len(_line(back)) != size:
                raise RuntimeError("The far side sent something else than the reply.")
        took = time.perf_counter() - began
        echo.stdin.close()
    return len(asks) / took


def _line(descriptor: int) -> bytes:
    """Read one line: with one in flight, nothing can follow it."""
    line = os.read(descriptor, 1 << 18)
    while line and not line.endswith(b"\n"):
        line += os.read(descriptor, 1 << 18)
    return line


def _echo() -> None:
    reply = _line(0)
    os.write(1, reply)
    while _line(0):
        os.write(1, reply)


if __name__ == "__main__":
    _echo()
