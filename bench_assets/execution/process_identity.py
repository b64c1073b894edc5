"""Names for processes of this machine, which outlive them: whose is something that a killed process left behind?"""

import hashlib
import os
from pathlib import Path


def this_process() -> str:
    """Return a name that no other process has had or will have: machine since its boot, process id, time of birth.

    Where there is no /proc, the name says `unknown`, and nothing is ever taken to be gone.
    """
    pid = os.getpid()
    return f"{_machine()}-{pid}-{_born(pid)}"


def is_local(name: object) -> bool:
    """Return whether `name` is of a process that we can see, or could while it lived."""
    machine, _, rest = str(name).partition("-")
    pid, _, born = rest.partition("-")
    return machine == _machine() != "unknown" and pid.isdigit() and born.isdigit()


def is_gone(name: object) -> bool:
    """Return whether `name` is of a process of this machine that has ended. Zombies have."""
    if not is_local(name):
        return False
    _, pid, born = str(name).split("-")
    return _born(int(pid)) != born


def _machine() -> str:
    """Return a name for this machine since it booted, and for the process namespace that we are in."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 the link's text is no path
    except OSError:
        return "unknown"
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:12]


def _born(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat[stat.rindex(")") + 2 :].split()
    return None if state in "ZX" else fields[18]
