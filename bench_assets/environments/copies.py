"""Copies of local sources, since builds write beside what they build (`build/`, `*.egg-info`)."""

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench_assets.environments.git import repository_of
from bench_assets.environments.local_project import combined_digest, project_folders
from bench_assets.environments.lock_text import LOCAL_LINE
from bench_assets.environments.resolve import Resolved
from bench_assets.environments.source_records import LocalSource
from bench_assets.environments.tree import tree_digest


class SourceChanged(Exception):
    """Raised when a local tree is no longer what its fingerprint was taken of."""


class SourceCopies:
    """A folder that mirrors the absolute paths of what it holds, so that references between them stay right."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def place(self, path: Path) -> Path:
        """Return where the copy of an absolute path is, or would be."""
        return self.root / path.relative_to(path.anchor)

    def add(self, resolved: Resolved, *, variables: Mapping[str, str]) -> Path:
        """Copy a local source and what belongs to it; return the copy's path.

        Raises SourceChanged when the copy is not what was resolved.
        """
        assert isinstance(resolved.source, LocalSource)
        path = resolved.source.path
        digests: dict[Path, str] = {}
        for folder in project_folders(path):
            target = self.place(folder)
            if target.exists():  # two sources share it: the second copy has to hold what the first did
                digests[folder] = tree_digest(folder)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            digests[folder] = tree_digest(folder, copy_to=target)
            self._show_repository(folder, variables=variables)
        if combined_digest(path, digests) != resolved.record.tree:
            raise SourceChanged(path)
        return self.place(path)

    def shown(self, text: str) -> str:
        """Return what uv said with the originals' paths, as the copies' mean nothing to a person."""
        return text.replace(self.root.as_uri(), "file://").replace(str(self.root), "")

    def lock_of(self, frozen: str) -> str:
        """Return a list of packages in which those that were built of copies name the originals."""
        return "".join(f"{self._original(line)}\n" for line in frozen.splitlines())

    def _original(self, line: str) -> str:
        local = LOCAL_LINE.match(line)
        # Compared as paths: uv and Python percent-encode different characters.
        path = Path(unquote(urlsplit(local["url"]).path)) if local else None
        if local is None or path is None or not path.is_relative_to(self.root):
            return line
        return f"{local['name']} @ {(Path('/') / path.relative_to(self.root)).as_uri()}"

    def remove(self) -> None:
        """Delete the copies."""
        shutil.rmtree(self.root, ignore_errors=True)

    def _show_repository(self, folder: Path, *, variables: Mapping[str, str]) -> None:
        # Projects that take their version from git tags need to find the repository. Git takes a file `.git` for one.
        repository = repository_of(folder, variables=variables) if folder.is_dir() else None
        if repository is not None:
            pointer = self.place(repository.top) / ".git"
            with contextlib.suppress(FileExistsError), pointer.open("x", encoding="utf-8") as file:
                file.write(f"gitdir: {repository.store}\n")
