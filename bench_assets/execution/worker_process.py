"""One worker process, as seen from here."""

import contextlib
import logging
import math
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench_assets.contracts.answer import ErrorInfo
from bench_assets.execution.attempts import Flight
from bench_assets.execution.launch import WorkerLaunch
from bench_assets.execution.messages import LARGEST_MESSAGE, SHUTDOWN, ProtocolViolation
from bench_assets.execution.orphans import FOLDER
from bench_assets.execution.process_identity import this_process
from bench_assets.execution.process_tree import end_tree
from bench_assets.execution.worker_log import LogDrain, WorkerLog

SHUTDOWN_LIMIT = 5.0
"""Seconds for the adapter's `close()` and the interpreter's end, before SIGTERM."""
OWN_END_LIMIT = 4.0
"""Seconds for a worker that closed its pipe to be gone: its keeper ends what it left running."""
LOG_LIMIT = 1.0
"""Seconds for the last standard error of a worker that is gone; an escaped process may hold it open for ever."""

_SIGNALS = {number.value: number.name for number in signal.Signals}

ipc = logging.getLogger("bench_assets.ipc")


@dataclass(frozen=True, kw_only=True)
class WorkerEnd:
    """How a worker ended."""

    returncode: int
    """Exit code; negative: the signal's number."""
    by_itself: bool
    """True when it was not us who ended it."""
    tail: str
    """The end of its standard error."""


class WorkerProcess:
    """A started worker: its pipes, what it is working on, and its end. Used by the engine's thread alone."""

    def __init__(
        self, launch: WorkerLaunch, *, log: WorkerLog, drain: LogDrain, redact: Callable[[str], str], now: float
    ) -> None:
        """Start the process. Raises OSError where that is impossible; nothing is left behind then."""
        self._redact = redact
        self.name = log.name
        self.log = log
        self.started = now
        self.ready = False
        self.concurrent = False
        """True when its adapter is async; known once it is ready."""
        self.is_full = False
        """True while its pipe takes no more, and the rest waits here."""
        self.capacity = 1
        """Questions that may be in flight here."""
        self.pace, self.slowest = math.inf, 1.0
        """Seconds of the agent's last answer, and of its slowest one lately, a tenth less with each one since."""
        self.company: int | None = None
        """So many may be in flight while it works on suspects; None when it does not."""
        self.flights: dict[int, Flight] = {}
        """What is in flight, by request id."""
        self.asked = 0
        """Questions handed out; also the last request id."""
        self.ended = False
        """True once its end began: nothing is read from it or sent to it any more."""
        self.ended_at = now
        """time.monotonic() of that."""
        self.fault: ErrorInfo | None = None
        """Why we ended it; None where it ended by itself, or was only not needed any more."""
        self._log_ipc = launch.log_ipc
        self._mark = f"{this_process()}-{secrets.token_hex(8)}"
        self._rest = bytearray()
        self._outgoing = bytearray()
        # Empty and far from any project: a file called json.py beside somebody's code must not become the agent's.
        self._scratch = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{this_process()}-"))
        read_end, write_end = os.pipe()
        try:
            self.process = subprocess.Popen(
                [str(launch.python), "-u", "-m", "bench_worker", *launch.connection],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=write_end,
                bufsize=0,
                cwd=self._scratch,
                env=launch.environment(mark=self._mark, scratch=self._scratch),
                start_new_session=True,
            )
        except BaseException:
            os.close(read_end)
            log.finish()
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise
        finally:
            os.close(write_end)
        drain.follow(log, read_end)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin = self.process.stdin.fileno()
        self.stdout = self.process.stdout.fileno()
        os.set_blocking(self.stdin, False)
        os.set_blocking(self.stdout, False)

    def queue(self, line: bytes) -> None:
        """Take on a line to send."""
        if self._log_ipc:
            self._show("<-", line)
        self._outgoing += line

    def send(self) -> bool:
        """Send what the pipe takes; return whether all is sent. Raises BrokenPipeError."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self.stdin, self._outgoing)]
        except BlockingIOError:
            return False
        return True

    def receive(self) -> list[bytes] | None:
        """Return the lines that arrived, without their ends; None when there will be no more.

        Raises ProtocolViolation for a line without end.
        """
        try:
            chunk = os.read(self.stdout, 1 << 18)
        except BlockingIOError:
            return []
        if not chunk:
            return None
        if self._rest:
            self._rest += chunk
            if b"\n" not in chunk:
                if len(self._rest) > LARGEST_MESSAGE:
                    raise ProtocolViolation(f"sent more than {LARGEST_MESSAGE} bytes without the end of a line")
                return []
            chunk, self._rest = bytes(self._rest), bytearray()
        *lines, rest = chunk.split(b"\n")
        self._rest += rest
        if self._log_ipc:
            for line in lines:
                self._show("->", line)
        return lines

    def has_ended(self) -> bool:
        """Return whether the process is gone, even where a process that escaped holds its pipes open."""
        return self.process.poll() is not None

    def finish(self, *, gently: bool) -> WorkerEnd:
        """End the process and everything it started, clean up, and say how it ended. Blocks for up to 15 seconds.

        `gently` lets the adapter close first. To be called once, from any thread, when nothing else is called any more.
        """
        if gently:
            self.queue(SHUTDOWN)
            with contextlib.suppress(BrokenPipeError):
                self.send()
            self._wait(SHUTDOWN_LIMIT)
        elif self.fault is None:
            self._wait(OWN_END_LIMIT)  # its pipe is closed: it is ending by itself, and how it does is the news
        by_itself = self.has_ended()
        end_tree(self.process, mark=self._mark)
        self.log.ended.wait(LOG_LIMIT)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        returncode = self.process.poll()
        return WorkerEnd(returncode=-9 if returncode is None else returncode, by_itself=by_itself, tail=self.log.tail())

    def _show(self, direction: str, line: bytes) -> None:
        ipc.info("%s %s %s", self.name, direction, self._redact(line[:2000].decode("utf-8", "replace").rstrip()))

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)


def fault_of(end: WorkerEnd, *, doing: str) -> ErrorInfo:
    """Return the error of a worker that ended without our doing. `doing` completes "while it …"."""
    trace = end.tail[-4000:] or None
    if not end.by_itself:
        message = f"the worker closed its side of the protocol while it {doing}, and went on running"
        return ErrorInfo(kind="protocol_error", message=message, traceback=trace)
    if end.returncode < 0:
        name = _SIGNALS.get(-end.returncode, f"signal {-end.returncode}")
        hint = " (the system does that when memory runs out)" if name == "SIGKILL" else ""
        message = f"the worker was ended by {name}{hint} while it {doing}"
        return ErrorInfo(kind="killed", message=message, traceback=trace)
    message = f"the worker ended by itself with exit code {end.returncode} while it {doing}"
    return ErrorInfo(kind="crash", message=message, traceback=trace)
