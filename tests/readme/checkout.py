"""A fresh copy of this repository, as somebody would have just cloned it, with what is not committed yet."""

import os
import shutil
import subprocess
import sys
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
