"""The bare limit: lines bounced through a pipe by two Python processes that do nothing else. Standard library only.

`python bare_pipe.py echo` is the far side: it answers each line with the line it was given first.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence


def bounce(asks: Sequence[bytes], reply: bytes, *, in_flight: int = 1) -> float:
    """Send the lines, at most so many ahead of their replies; return the lines a second.

    What can be written or answered together is: with one in flight each line is a call there and a call back, and wakes
    both processes.
    """
    command = [sys.executable, "-S", __file__, "echo"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        there, back = echo.stdin.fileno(), echo.stdout.fileno()
        os.write(there, reply)
        _lines(back)
        began = time.perf_counter()
        answered, asked = 0, in_flight
        os.write(there, b"".join(asks[:asked]))
        while answered < len(asks):
            received = _lines(back)
            if not received:
                raise RuntimeError("The far side ended before it had answered every line.")
            answered += received
            if asked < len(asks):
                os.write(there, b"".join(asks[asked : asked + received]))
                asked += received
        took = time.perf_counter() - began
        echo.stdin.close()
    return len(asks) / took


def _lines(descriptor: int) -> int:
    """Read what is there; return how many line ends are in it, 0 at the end."""
    while chunk := os.read(descriptor, 1 << 18):
        if lines := chunk.count(b"\n"):
            return lines
    return 0


def _echo() -> None:
    reply = b""
    while not reply.endswith(b"\n"):
        reply += os.read(0, 1 << 18)
    os.write(1, reply)
    while lines := _lines(0):
        os.write(1, reply * lines)


if __name__ == "__main__":
    _echo()
