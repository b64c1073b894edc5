"""The content of a local source: one digest over its files, and a copy that a build may write into."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_assets.errors import InvalidAgent

SKIPPED_NAMES = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
    | {".hypothesis", ".bench", ".DS_Store"}
)
SKIPPED_ENDINGS = (".pyc", ".pyo", ".egg-info")
CACHE_TAG = "CACHEDIR.TAG"
"""Marks a folder as a cache, by a convention that many tools follow. Its content is nobody's source."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    name: str
    """Path inside the tree, with `/`."""
    path: Path
    mode: int


def tree_digest(root: Path, *, copy_to: Path | None = None) -> str:
    """Return 64 hex digits over a folder's or file's content, and copy it on the way when asked.

    Names, bytes, the executable bit and the targets of links count; times and owners do not. Left out: `.git`, virtual
    environments, byte code, `*.egg-info` and the caches of tools. A link that leaves the tree counts as what it points
    at, since it is copied as that.

    Args:
        root: a folder or a file.
        copy_to: where the copy goes, a path that does not exist yet; None makes no copy. The digest is that of the
            bytes which were copied, also when someone edits the tree meanwhile.

    Raises:
        InvalidAgent: something in the tree cannot be read.
        OSError: the copy cannot be written.
    """
    total = hashlib.sha256()
    try:
        for entry in _entries(root):
            copied = None if copy_to is None else copy_to / entry.name if entry.name else copy_to
            kind, content = _take(entry, copied)
            name = os.fsencode(entry.name)
            total.update(b"%s %d %d\n" % (kind, len(name), len(content)) + name + content)
    except OSError as error:
        if copy_to is not None and Path(str(error.filename)).is_relative_to(copy_to):
            raise  # the copy cannot be written: no fault of the source
        raise InvalidAgent(
            f"`{error.filename or root}` in the source `{root}` cannot be read: {error.strerror}."
        ) from error
    return total.hexdigest()


def _take(entry: _Entry, copied: Path | None) -> tuple[bytes, bytes]:
    """Return one letter for what the entry is, and its content's digest or a link's target. Copy it to `copied`."""
    if stat.S_ISDIR(entry.mode):
        if copied is not None:
            copied.mkdir(parents=True, exist_ok=True)
        return b"d", b""
    if stat.S_ISLNK(entry.mode):
        target = entry.path.readlink()
        if copied is not None:
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.symlink_to(target)
        return b"l", os.fsencode(target)
    executable = bool(entry.mode & 0o100)
    if copied is not None:
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(entry.path, copied)
        copied.chmod(0o755 if executable else 0o644)
    # The copy is read, not the original, which may have changed since.
    with (copied or entry.path).open("rb") as file:
        return b"x" if executable else b"f", hashlib.file_digest(file, "sha256").digest()


def _entries(root: Path) -> Iterator[_Entry]:
    mode = root.stat().st_mode
    if stat.S_ISDIR(mode):
        yield from _folder(root, root=root, prefix="", above=frozenset({root.resolve()}))
    else:
        yield _Entry(name="", path=root, mode=mode)


def _folder(folder: Path, *, root: Path, prefix: str, above: frozenset[Path]) -> Iterator[_Entry]:
    with os.scandir(folder) as scan:
        found = sorted(scan, key=lambda item: os.fsencode(item.name))
    for item in found:
        path, name = Path(item.path), prefix + item.name
        if item.name in SKIPPED_NAMES or item.name.endswith(SKIPPED_ENDINGS):
            continue
        mode = item.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode) and path.exists() and not path.resolve().is_relative_to(root):
            mode = path.stat().st_mode  # it leaves the tree: taken as what it points at
        if stat.S_ISDIR(mode):
            if (path / CACHE_TAG).is_file() or (path / "pyvenv.cfg").is_file() or path.resolve() in above:
                continue
            yield _Entry(name=name, path=path, mode=mode)
            yield from _folder(path, root=root, prefix=f"{name}/", above=above | {path.resolve()})
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield _Entry(name=name, path=path, mode=mode)
