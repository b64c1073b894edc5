"""The private descriptors of the protocol, and the lines on them."""

from __future__ import annotations

import fcntl
import json
import os
import select
from typing import Any

LARGEST_MESSAGE = 64 * 1024 * 1024
"""Bytes of one line. bench-assets refuses longer ones, so `bench_worker.reply` makes none."""

_FIRST_PRIVATE = 100  # out of the way of programs that expect certain low descriptors to be free
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Channel:
    """Reads and writes protocol lines. Belongs to one process: a fork of it cannot speak."""

    def __init__(self, source: int, sink: int) -> None:
        """`source` and `sink` are descriptors; the channel owns them."""
        self.source = source
        self.sink = sink
        self._owner = os.getpid()
        self._rest = bytearray()

    @classmethod
    def take_over(cls) -> Channel:
        """Move the protocol off descriptors 0 and 1, and leave /dev/null and standard error there."""
        source = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE)
        sink = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        return cls(source, sink)

    def adopt(self) -> None:
        """Make the calling process the owner; forks that it makes lose the descriptors at once.

        Without that, a child of the agent (multiprocessing's, for instance) would hold the pipe open after the worker's
        end, and one that returns through our code would answer in the worker's name.
        """
        self._owner = os.getpid()
        os.register_at_fork(after_in_child=self.close)

    def close(self) -> None:
        """Close both descriptors; a second call does nothing, as their numbers may mean something else by then."""
        descriptors = () if self.source < 0 else (self.source, self.sink)
        self.source = self.sink = -1
        for descriptor in descriptors:
            os.close(descriptor)

    def send(self, message: dict[str, Any]) -> None:
        """Write one message. Ends the process where it is not the owner. The message must be strict JSON."""
        self.send_line(encode(message))

    def send_line(self, line: bytes) -> None:
        """Write one encoded message."""
        if os.getpid() != self._owner:
            os._exit(1)
        view = memoryview(line)
        while view:
            view = view[os.write(self.sink, view) :]

    def has_input(self) -> bool:
        """Return whether `receive` would not wait."""
        return bool(select.select([self.source], [], [], 0)[0])

    def receive(self) -> list[dict[str, Any]] | None:
        """Read what is there (waiting for at least some bytes) and return its whole messages; None at the end."""
        chunk = os.read(self.source, 1 << 18)
        if not chunk:
            return None
        self._rest += chunk
        if b"\n" not in chunk:
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        return [json.loads(line.decode("utf-8")) for line in lines]


def encode(message: dict[str, Any]) -> bytes:
    """Return the line of `message`. Raises ValueError, TypeError or RecursionError where it is no strict JSON."""
    return _encode(message).encode("utf-8") + b"\n"
