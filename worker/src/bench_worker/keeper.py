"""The process that was started: it runs the agent in a child of its own, and sees to it that nothing is left behind.

Why a process for that. The agent's process may be busy in C code, stopped, or killed for its memory, and can then look
after nothing. The orchestrator may be killed as well, and must not become the parent of strangers' orphans. The keeper
is small, never runs the agent's code, and waits for four things:

- the agent's process ends: what it left running is ended too, and the keeper ends the way it did (exit code or signal);
- SIGTERM: everything below it gets SIGTERM, after a pause SIGKILL;
- the orchestrator's end of the pipe closes, or its process is gone: the same, with a shorter pause;
- the keeper itself is killed: the kernel then kills the agent's process (Linux).

On Linux it is the subreaper of all its descendants: one that leaves its group or session, or is orphaned by a double
fork, still becomes its child, is found, ended and waited for. Elsewhere it reaches the agent's process group.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import shutil
import signal
import time
import traceback
from pathlib import Path
from typing import NoReturn

from bench_worker.channel import Channel
from bench_worker.processes import become_subreaper, descendants, die_with_parent

TERM_PAUSE = 2.0
"""Seconds between SIGTERM and SIGKILL when bench-assets ends a worker."""
ORPHAN_PAUSE = 0.5
"""The same when bench-assets is gone, and for what an agent left running."""
KILL_LIMIT = 5.0
"""Seconds to wait for killed processes to disappear; one in uninterruptible sleep may take longer than we do."""


def split(channel: Channel) -> None:
    """Fork. Returns in the child, which is the agent's process; the parent becomes the keeper and never returns."""
    orchestrator = os.getppid()
    become_subreaper()
    awake, waker = os.pipe()
    os.set_blocking(waker, False)
    os.set_blocking(awake, False)
    terminated: list[int] = []
    # Handlers are in place before there is a child, so that none of its signals is missed.
    signal.signal(signal.SIGTERM, lambda number, _: terminated.append(number))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(waker)
    child = os.fork()
    if child:
        os.close(channel.sink)
        _Keeper(child, orchestrator=orchestrator, lifeline=channel.source, awake=awake, terminated=terminated).keep()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.close(awake)
    os.close(waker)
    os.setsid()  # whatever the agent signals as "my group" is not the keeper
    die_with_parent()
    channel.adopt()


def _remove_scratch() -> None:
    """Remove the folder that bench-assets made for this worker, and would have removed."""
    scratch = os.environ.get("BENCH_WORKER_SCRATCH")
    if scratch and Path(scratch).resolve() == Path.cwd():  # a folder that was not meant for us is not ours
        shutil.rmtree(scratch, ignore_errors=True)


class _Keeper:
    def __init__(self, child: int, *, orchestrator: int, lifeline: int, awake: int, terminated: list[int]) -> None:
        self.child = child
        self.orchestrator = orchestrator
        self.lifeline = lifeline
        self.awake = awake
        self.terminated = terminated
        self.status: int | None = None
        self.childless = False

    def keep(self) -> NoReturn:
        try:
            self._watch()
        except BaseException:
            traceback.print_exc()
        os._exit(70)  # a fault in here: the kernel ends the agent's process, bench-assets whatever else is left

    def _watch(self) -> None:
        poller = select.poll()
        # No event is asked for: a hang-up is reported all the same, also while bytes for the agent are in the pipe.
        poller.register(self.lifeline, 0)
        poller.register(self.awake, select.POLLIN)
        while True:
            self._reap()
            if self.status is not None:
                self._end_all(ORPHAN_PAUSE)
            elif self.terminated:
                self._end_all(TERM_PAUSE)
            elif self._orphaned(poller.poll(1000)):
                self._end_all(ORPHAN_PAUSE)
                _remove_scratch()
            else:
                self._drain()
                continue
            self._end_like_child()

    def _orphaned(self, events: list[tuple[int, int]]) -> bool:
        # The parent's id is the second sign: another fork of the orchestrator may hold its end of the pipe open.
        return any(number == self.lifeline for number, _ in events) or os.getppid() != self.orchestrator

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.awake, 512):
                pass

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if pid == 0:
                return
            if pid == self.child:
                self.status = status

    def _end_all(self, pause: float) -> None:
        """SIGTERM, `pause`, SIGKILL; returns when no descendant is left, or after a bounded wait."""
        self._signal_all(signal.SIGTERM)
        if not self._gone_within(pause):
            limit = time.monotonic() + KILL_LIMIT
            while time.monotonic() < limit:
                self._signal_all(signal.SIGKILL)  # again and again: they may fork meanwhile
                if self._gone_within(0.05):
                    return

    def _gone_within(self, seconds: float) -> bool:
        limit = time.monotonic() + seconds
        while True:
            self._reap()
            if self.childless:
                return True
            left = limit - time.monotonic()
            if left <= 0:
                return False
            select.select([self.awake], [], [], left)
            self._drain()

    def _signal_all(self, number: signal.Signals) -> None:
        for pid in descendants(os.getpid(), agent=None if self.status is not None else self.child):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _end_like_child(self) -> NoReturn:
        status = 0 if self.status is None else self.status
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            time.sleep(1)  # the signal arrives within it
        os._exit(os.WEXITSTATUS(status))
