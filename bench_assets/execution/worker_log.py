"""Standard error of the workers: always drained, kept as a bounded tail and a bounded log file."""

import contextlib
import os
import selectors
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

TAIL = 8_000
"""Bytes of the end that are kept for error messages."""
LONGEST_LINE = 1 << 16
"""Bytes of a line that are kept back until its end comes."""
LARGEST_LOG = 5_000_000
"""Bytes of a log file. What comes after them is left out, except for the tail."""


class WorkerLog:
    """One worker's standard error. Made by `LogDrain.follow`."""

    def __init__(self, file: BinaryIO, *, name: str, redact: Callable[[str], str]) -> None:
        """`file` is the log file, new and empty; `name` is the worker's; `redact` takes secrets out of text."""
        self.name = name
        self._redact = redact
        self._line = b""
        self._file = file
        self._size = 0
        self._tail = b""
        self._left_out = 0
        self.ended = threading.Event()
        """Set when all there will ever be has been read."""

    def take(self, chunk: bytes) -> None:
        """Keep a piece of output."""
        self._tail = (self._tail + chunk)[-TAIL:]
        if self._size >= LARGEST_LOG:
            self._left_out += len(chunk)
            return
        # Whole lines, so that no secret hides across two pieces; a line without end waits for no more than 64 KiB.
        end = chunk.rfind(b"\n") + 1
        if not end and len(self._line) + len(chunk) < LONGEST_LINE:
            self._line += chunk
        else:
            end = end or len(chunk)
            self._write(self._line + chunk[:end])
            self._line = chunk[end:]

    def finish(self) -> None:
        """Close the file, with a note and the tail where it was cut."""
        self._write(self._line)
        if self._left_out:
            note = f"\n--- {self._left_out} bytes left out here; this is the end of the output:\n"
            self._size = 0
            self._write(note.encode("utf-8") + self._tail)
        self._file.close()
        self.ended.set()

    def tail(self) -> str:
        """Return the end of the output, at most 8,000 bytes."""
        return self._redact(self._tail.decode("utf-8", "replace"))

    def _write(self, output: bytes) -> None:
        kept = self._redact(output.decode("utf-8", "replace")).encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # a full disk: the journal is where it is reported
            self._file.write(kept[: LARGEST_LOG - self._size])
        self._left_out += max(0, self._size + len(kept) - LARGEST_LOG)
        self._size += len(kept)


class LogDrain:
    """A thread that reads the standard error of all workers, also while nobody asks them anything."""

    def __init__(self, folder: Path, *, redact: Callable[[str], str]) -> None:
        """`folder` gets the log files, made with the first one; `redact` takes secrets out of text."""
        self._folder = folder
        self._redact = redact
        self._selector = selectors.DefaultSelector()
        self._awake, self._waker = os.pipe()
        os.set_blocking(self._awake, False)
        self._selector.register(self._awake, selectors.EVENT_READ)
        self._new: deque[tuple[int, WorkerLog]] = deque()
        self._open = 0
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="worker-logs", daemon=True)
        self._thread.start()

    def new_log(self, *, shard: str, number: int) -> tuple[WorkerLog, int]:
        """Open the first unused log `<shard>-<number>.log` from `number` on; return it and its number."""
        self._folder.mkdir(parents=True, exist_ok=True)
        while True:
            name = f"{shard}-{number}"
            try:
                # Unbuffered: a person follows it with `tail -f`, and a killed orchestrator loses nothing.
                file = (self._folder / f"{name}.log").open("xb", buffering=0)
            except FileExistsError:  # an earlier process worked on this shard
                number += 1
            else:
                return WorkerLog(file, name=name, redact=self._redact), number

    def follow(self, log: WorkerLog, descriptor: int) -> None:
        """Read `descriptor` into `log` until its end, and close it."""
        self._new.append((descriptor, log))
        os.write(self._waker, b"x")

    def close(self) -> None:
        """Stop reading. Logs still open, because something that escaped holds them, are finished as they are."""
        self._closing = True
        os.write(self._waker, b"x")
        self._thread.join()
        os.close(self._awake)
        os.close(self._waker)

    def _work(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select():
                if key.fd == self._awake:
                    os.read(self._awake, 512)
                    self._adopt()
                elif chunk := os.read(key.fd, 1 << 16):
                    key.data.take(chunk)
                else:
                    self._end(key.fd, key.data)
        self._adopt()
        for key in list(self._selector.get_map().values()):
            if key.fd != self._awake:
                self._end(key.fd, key.data)
        self._selector.close()

    def _adopt(self) -> None:
        while self._new:
            descriptor, log = self._new.popleft()
            self._selector.register(descriptor, selectors.EVENT_READ, log)

    def _end(self, descriptor: int, log: WorkerLog) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        log.finish()
