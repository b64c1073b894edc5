"""A fresh copy of this repository, as somebody would have just cloned it, with what is not committed yet."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def fresh_copy(folder: Path) -> Path:
    """Copy the repository's files to `folder`, with a link to this environment as its `.venv`. Returns `folder`."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():  # a deleted file is listed until the deletion is committed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    return folder


def clean_environment(folder: Path, *, cache: Path) -> dict[str, str]:
    """Return a shell's environment for the copy in `folder`: nothing of ours set, and the copy's own code imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BENCH", "DAGSTER", "OPENAI"))}
    return {**kept, "PYTHONPATH": str(folder), "BENCH_CACHE_DIR": str(cache)}


def running_in(folder: Path) -> list[str]:
    """Return the commands of processes that have `folder` as their place or in their environment after 20 s."""
    end = time.monotonic() + 20
    while (found := list(_running_in(folder))) and time.monotonic() < end:
        time.sleep(0.25)
    return found


def _running_in(folder: Path) -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        try:
            places = [(process / "cwd").readlink().as_posix(), (process / "environ").read_text(errors="replace")]
            if any(str(folder) in place for place in places):
                yield (process / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:
            continue  # it ended meanwhile
