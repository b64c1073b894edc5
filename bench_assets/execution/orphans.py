"""What engines that were killed left behind, where even the keepers of their workers were killed.

Each worker's mark and folder carry the name of the process that started it. So whoever starts workers next can tell
what belongs to nobody any more, and never touches what belongs to a process that lives, or to another container.
"""

import contextlib
import logging
import os
import shutil
import signal
import tempfile
from pathlib import Path

from bench_assets.execution.launch import MARK
from bench_assets.execution.process_identity import is_gone

logger = logging.getLogger(__name__)

FOLDER = "bench-worker-"
"""How the names of workers' folders begin, in the system's folder for temporary files."""


def sweep_orphans() -> None:
    """End the processes and remove the folders of workers whose orchestrator is gone."""
    for pid in _orphans(Path("/proc")):
        logger.warning("Process %d belongs to a worker whose bench-assets was killed; it is ended.", pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
            if is_gone(folder.name.removeprefix(FOLDER).rpartition("-")[0]):
                shutil.rmtree(folder, ignore_errors=True)


def _orphans(proc: Path) -> list[int]:
    if not proc.is_dir():
        return []
    found = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it ended, or belongs to somebody else
                for variable in (entry / "environ").read_bytes().split(b"\0"):
                    name, _, mark = variable.partition(b"=")
                    if name == MARK.encode() and is_gone(mark.decode("utf-8", "replace").rpartition("-")[0]):
                        found.append(int(entry.name))
    return found
