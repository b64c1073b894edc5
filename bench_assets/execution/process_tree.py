"""Finding and ending every process of a worker, wherever it went.

A worker's own keeper does this much better, as it is the subreaper of all its descendants (`worker/`, `keeper.py`).
What is here works without it: when a keeper was killed, or the worker is one that has none. It finds processes below
the worker, and those that carry its mark in the environment they were started with, which survives a new session and
a double fork. We don't make our own process a subreaper: it is Dagster's, and would have to wait for strangers.
"""

import contextlib
import logging
import os
import signal
import subprocess
import time
from pathlib import Path

from bench_assets.execution.launch import MARK

logger = logging.getLogger(__name__)

KEEPER_LIMIT = 4.0
"""Seconds from SIGTERM until the worker's keeper must be done: its 2 s pause, the kills, and a busy machine."""
KILL_LIMIT = 5.0
"""Seconds for killed processes to disappear."""


def end_tree(process: "subprocess.Popen[bytes]", *, mark: str) -> None:
    """End a worker and everything it started: SIGTERM to its keeper, after a bounded wait SIGKILL to all that is left.

    Returns when all are gone, or after about 10 seconds with a line in the log. The process has been waited for.
    """
    proc = Path("/proc")
    members = _members(proc, process.pid, mark) if process.poll() is None else {}
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(KEEPER_LIMIT)
    limit = time.monotonic() + KILL_LIMIT
    while True:
        members |= _members(proc, process.pid, mark)
        left = {pid: born for pid, born in members.items() if _born(proc, pid) == born}
        if process.poll() is None:
            process.kill()
        elif not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() >= limit:
            logger.error(
                "The processes %s of a worker are still there %g s after SIGKILL.",
                sorted(left or [process.pid]),
                KILL_LIMIT,
            )
            return
        time.sleep(0.02)


def _members(proc: Path, root: int, mark: str) -> dict[int, bytes]:
    """Return the processes of a worker by id, each with its time of birth. The root itself is left out."""
    if not proc.is_dir():
        return {}
    children: dict[int, list[int]] = {}
    born: dict[int, bytes] = {}
    found: set[int] = set()
    token = f"{MARK}={mark}\0".encode()
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        pid = int(entry.name)
        with contextlib.suppress(OSError):  # it ended, or belongs to somebody else
            stat = _stat(proc, pid)
            born[pid] = stat[19]
            children.setdefault(int(stat[1]), []).append(pid)
            if stat[0] not in b"ZX" and token in (entry / "environ").read_bytes() + b"\0":
                found.add(pid)
    wave = [root]
    while wave:
        wave = [child for parent in wave for child in children.get(parent, ())]
        found.update(wave)
    return {pid: born[pid] for pid in found - {root}}


def _born(proc: Path, pid: int) -> bytes | None:
    """Return the process's time of birth; None when it is gone, or dead and only not yet waited for."""
    try:
        stat = _stat(proc, pid)
    except OSError:
        return None
    return None if stat[0] in b"ZX" else stat[19]


def _stat(proc: Path, pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat from the state on: state, parent, …, time of birth at 19."""
    stat = (proc / str(pid) / "stat").read_bytes()
    return stat[stat.rindex(b")") + 2 :].split()
