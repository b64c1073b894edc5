"""What the keeper asks of the operating system."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Make orphaned descendants children of this process (Linux; nothing elsewhere)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent is gone (Linux; nothing elsewhere).

    For the child of a process with one thread: the kernel means the parent *thread*.
    """
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it went before the kernel was told
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def descendants(ancestor: int, *, agent: int | None) -> list[int]:
    """Return the ids of all processes below `ancestor`.

    Where there is no /proc, that is the group which `agent` leads (as a negative id, the way kill takes it).
    """
    proc = Path("/proc")
    if not (proc / "self" / "stat").exists():
        return [] if agent is None else [-agent]
    children: dict[int, list[int]] = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:  # it ended
                continue
            parent = int(stat[stat.rindex(b")") + 2 :].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    wave = [ancestor]
    while wave:
        wave = [child for parent in wave for child in children.get(parent, ())]
        found.extend(wave)
    return found
