"""Local sources as one file each, so that another machine can build the same environment."""

import io
import os
import tarfile
import tempfile
from pathlib import Path

from bench_assets.environments.local_project import combined_digest, project_folders
from bench_assets.environments.tree import tree_digest
from bench_assets.errors import EnvironmentFailed

LARGEST = 200_000_000
"""Bytes of an archive; sources beyond that do not belong into a store of results."""


def pack(path: Path, *, tree: str) -> bytes | None:
    """Return a source, and the folders that belong to it, as a `.tar.gz` with their places relative to each other.

    None when the source is no longer what `tree`, its digest, says. Raises EnvironmentFailed when it is too large.
    """
    with tempfile.TemporaryDirectory(prefix="bench-assets-source-") as folder:
        top = Path(folder)
        digests: dict[Path, str] = {}
        for part in project_folders(path):
            copy = _place(top, part)
            copy.parent.mkdir(parents=True, exist_ok=True)
            digests[part] = tree_digest(part, copy_to=copy)
        if combined_digest(path, digests) != tree:
            return None
        size = sum(file.lstat().st_size for file in top.rglob("*"))
        if size > LARGEST:
            raise EnvironmentFailed(
                f"`{path}` has {size:,} bytes; sources up to {LARGEST:,} are kept in the store for other machines. "
                "Take large files out of it, or give the agent as `git+…`."
            )
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as archive:
            archive.add(top, arcname=".")
        return buffer.getvalue()


def unpack(data: bytes, *, to: Path, path: Path) -> Path:
    """Unpack an archive into an empty folder; return where the source lies that was packed from `path`.

    Raises EnvironmentFailed for what `pack` did not write, also for files that would land outside of `to`.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            archive.extractall(to, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise EnvironmentFailed(f"The stored source of `{path}` cannot be unpacked: {error}.") from error
    return _place(to.resolve(), path)


def _place(top: Path, path: Path) -> Path:
    return top / os.path.relpath(path, path.anchor)
