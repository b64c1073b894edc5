"""Fresh processes, timed: what a person waits for, and what the machine did for it."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(sys.executable).parent
"""Where the commands of this environment are, `bench-assets` among them."""

TIMEOUT_SEC = 1800.0

OF_OTHERS = ("BENCH", "DAGSTER", "INSPECT", "PROMPTFOO", "PYTHON", "UV_", "VIRTUAL_ENV")
"""Beginnings of variables that would make one machine's figures differ from another's."""


@dataclass(frozen=True)
class Took:
    """What one process took, with the children that it waited for."""

    wall: float
    """Seconds from its start to its end."""
    work: float
    """Seconds of CPU time."""
    output: str
    """What it said on standard output."""


def variables(bytecode: Path, **more: str) -> dict[str, str]:
    """Return the variables of a person's shell on this machine, plus `more`.

    Compiled modules are kept in `bytecode`, as they are beside the modules where nobody forbids that: from the second
    start on every process finds its own there, whatever the state of the environment that it runs in.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_OTHERS)}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode), **more}


def run(command: Sequence[str | Path], *, cwd: Path, environ: Mapping[str, str], codes: Sequence[int] = (0,)) -> Took:
    """Run a command to its end. Raises RuntimeError, with the end of what it said, for another code than `codes`."""
    began = time.perf_counter()
    with (
        (cwd / ".stdout").open("w+b") as said,
        (cwd / ".stderr").open("w+b") as complained,
        subprocess.Popen(
            list(map(str, command)),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=complained,
        ) as child,
    ):
        before = os.times()
        try:
            child.wait(TIMEOUT_SEC)
        finally:
            if child.returncode is None:
                child.kill()
        wall, after = time.perf_counter() - began, os.times()
        said.seek(0)
        complained.seek(0)
        output, errors = (file.read().decode("utf-8", "replace") for file in (said, complained))
    if child.returncode not in codes:
        shown = " ".join(map(str, command))
        raise RuntimeError(f"`{shown}` ended with {child.returncode}:\n{output[-2000:]}\n{errors[-2000:]}")
    work = after.children_user + after.children_system - before.children_user - before.children_system
    return Took(wall=wall, work=work, output=output)
