"""Makes the example agent's git repository, with one tag a version: `python make_repository.py FOLDER`.

Made on the fly, as a repository cannot hold another one. Made twice, it is the same to the last commit id.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
AUTHOR = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (
    ("NAME", "abacus"), ("EMAIL", "abacus@example.org"), ("DATE", "2026-01-01T00:00:00+00:00"),
)}  # fmt: skip


def make_repository(folder: Path) -> None:
    """Make the repository in `folder`, unless it is there already."""
    if (folder / ".git" / "refs" / "tags" / "v1.1.0").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "package", folder, ignore=shutil.ignore_patterns("__pycache__"))
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for version in sorted((HERE / "versions").iterdir()):
        shutil.copy(version / "solver.py", folder / "src" / "abacus" / "solver.py")
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", version.name)
        _git(folder, "tag", version.name)


def _git(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, env=environment, timeout=60)


if __name__ == "__main__":
    make_repository(Path(sys.argv[1]).resolve())
