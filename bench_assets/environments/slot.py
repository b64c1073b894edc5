"""The place of one fingerprint in the cache: its generations, which of them is current, and who uses which.

::

    <root>/<32 hex digits of the fingerprint>/
        lock                 held by whoever builds here
        current              a link to the generation that new users get
        <generation>/
            venv/            built here and never moved: a venv holds its own path
            environment.json the marker, written last and whole; a generation without it does not exist for a look-up
            lease            shared by those who use the generation; nobody removes it before they end

A build that is killed leaves a generation without a marker. Nobody takes it, and the next build here removes it. Each
build has a folder of its own, so that a child which outlives a killed build cannot write into the next one.
"""

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from bench_assets.contracts.base import Record
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.environments.build import python_of
from bench_assets.environments.health import Stamp
from bench_assets.environments.locks import Lease, try_lock
from bench_assets.errors import InvalidInput

MARKER = "environment.json"
CURRENT = "current"
TRASH = ".removed-"


class Marker(Record):
    """`environment.json`: what was built, and what it looked like then."""

    record: EnvironmentRecord
    stamp: Stamp


class Generation:
    """One build of an environment, complete or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """The folder's name, unique in its slot."""
        return self.folder.name

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return python_of(self.folder)

    def marker(self) -> Marker | None:
        """Return what was built; None for a build that did not end, or of a release with other records."""
        try:
            fields = json.loads((self.folder / MARKER).read_text(encoding="utf-8"))
            return Marker(
                record=EnvironmentRecord.from_json(fields["record"], source=str(self.folder / MARKER)),
                stamp=Stamp.from_json(fields["stamp"]),
            )
        except (OSError, ValueError, TypeError, KeyError, InvalidInput):
            return None

    def write_marker(self, marker: Marker) -> None:
        """Make the generation complete, or replace its marker: whole or not at all."""
        aside = self.folder / f".{MARKER}.{secrets.token_hex(4)}"
        with aside.open("w", encoding="utf-8") as file:
            json.dump(marker.to_json(), file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self.folder / MARKER)

    def lease(self) -> Lease | None:
        """Keep the generation from being removed; None when it is being removed right now, or is gone."""
        lease = try_lock(self.folder / "lease", shared=True)
        if lease is not None and not (self.folder / MARKER).exists():
            lease.release()
            return None
        return lease


class Slot:
    """All generations of one fingerprint."""

    def __init__(self, root: Path, fingerprint: str) -> None:
        # Half of the digits are enough to tell environments apart and keep script paths short; the marker has all.
        self.folder = root / fingerprint[:32]
        self.fingerprint = fingerprint

    @property
    def lock(self) -> Path:
        """The file whose lock a builder holds."""
        return self.folder / "lock"

    def prepare(self) -> None:
        """Make the slot's folder."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def complete(self, *, lock_digest: str | None) -> Iterator[tuple[Generation, Marker]]:
        """Yield the complete generations of this fingerprint that have that lock.

        Without a lock it is the current one; every one while none is current, which is so for a moment, or after a kill
        in that moment.
        """
        current = self._current()
        for folder in self._folders():
            if lock_digest is None and current is not None and folder.name != current:
                continue
            generation = Generation(folder)
            marker = generation.marker()
            if marker is None or marker.record.fingerprint != self.fingerprint:
                continue
            if lock_digest is None or marker.record.lock_digest == lock_digest:
                yield generation, marker

    def new_generation(self) -> Generation:
        """Make an empty folder for a build. Only for the holder of the lock."""
        folder = self.folder / secrets.token_hex(4)
        folder.mkdir()
        return Generation(folder)

    def make_current(self, generation: Generation) -> None:
        """Let new users get this generation from now on."""
        aside = self.folder / f".{CURRENT}.{secrets.token_hex(4)}"
        aside.symlink_to(generation.name)
        aside.replace(self.folder / CURRENT)

    @property
    def has_current(self) -> bool:
        """True when there is a generation for new users."""
        current = self._current()
        return current is not None and (self.folder / current / MARKER).exists()

    def sweep(self) -> None:
        """Remove what a killed build left, and old generations that nobody uses. Only for the holder of the lock."""
        current = self._current()
        for folder in self._folders(removed_too=True):
            if folder.name != current or not (folder / MARKER).exists():
                self.discard(Generation(folder))

    def discard(self, generation: Generation) -> None:
        """Remove a generation unless someone uses it. Only for the holder of the lock."""
        lease = try_lock(generation.folder / "lease", shared=False)
        if lease is None and generation.folder.exists():
            return
        try:
            # The marker goes first: whoever opens the lease after us must see that there is nothing to use.
            with contextlib.suppress(OSError):
                (generation.folder / MARKER).unlink(missing_ok=True)
            removed = self.folder / f"{TRASH}{secrets.token_hex(4)}"
            with contextlib.suppress(OSError):
                generation.folder.rename(removed)
            shutil.rmtree(removed, ignore_errors=True)
        finally:
            if lease is not None:
                lease.release()

    def _current(self) -> str | None:
        try:
            return (self.folder / CURRENT).readlink().name
        except OSError:
            return None

    def _folders(self, *, removed_too: bool = False) -> list[Path]:
        try:
            found = [path for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink()]
        except OSError:
            return []
        return [path for path in found if removed_too or not path.name.startswith(TRASH)]
