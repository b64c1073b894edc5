"""Objects in a folder of this machine."""

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from bench_assets.errors import InvalidInput, ObjectMissing, StorageFailed
from bench_assets.storage.keys import LEFTOVER, check_key, check_prefix, pieces, split_lines

_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class LocalStore:
    """Objects as files under `root`; the folder is made with the first write.

    A write goes to a new file in the target's folder, is flushed to the disk and renamed over the target; then the
    folder is flushed too: without that a power cut could take back a write that a journal or a database already relies
    on. A process that is killed leaves its unfinished file behind, under a name that no key can have and no listing
    shows.

    The file system must have hard links for `create`, and must not be shared by machines that do not see each other's
    renames at once.
    """

    def __init__(self, root: Path | str) -> None:
        """`root` is made absolute; nothing is touched yet."""
        self.root = Path(root).expanduser().absolute()

    @property
    def root_url(self) -> str:
        """The folder's absolute path, which `open_store` reads back."""
        return str(self.root)

    def path(self, key: str) -> Path:
        """Return the file of `key`, which need not exist."""
        return self.root / check_key(key)

    def url(self, key: str) -> str:
        """Return the absolute path of `key`'s file."""
        return str(self.path(key))

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yield the object piece by piece. Raises ObjectMissing with the first piece."""
        with _told("read", self.path(key)):
            yield from pieces(self._open(key))

    def read(self, key: str) -> bytes:
        """Return the whole object. Raises ObjectMissing."""
        return b"".join(self.chunks(key))

    def lines(self, key: str) -> Iterator[bytes]:
        r"""Yield the object's lines without their `\n`. Raises ObjectMissing with the first line."""
        return split_lines(self.chunks(key))

    def write(self, key: str, data: bytes | Iterable[bytes]) -> None:
        """Store the object, whole or not at all; an older one stays until then. An iterable is written as it comes."""
        target = self.path(key)
        with _told("write", target), self._finished_file(target, data) as ready:
            ready.replace(target)
            _flush_folder(target.parent)

    def create(self, key: str, data: bytes) -> bool:
        """Store the object only where there is none, whole or not at all. Returns False when there is one already.

        Of any number of processes that try at once, exactly one gets True.
        """
        target = self.path(key)
        if self.exists(key):
            return False
        with _told("create", target), self._finished_file(target, data) as ready:
            try:
                os.link(ready, target)
            except FileExistsError:
                return False
            _flush_folder(target.parent)
        return True

    def exists(self, key: str) -> bool:
        """Return whether there is an object under `key`."""
        with _told("look for", self.path(key)):
            return self.path(key).is_file()

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin with `prefix`, sorted by their characters' numbers."""
        folder = self.root / check_prefix(prefix).rpartition("/")[0]
        with _told("list", folder):
            return iter(sorted(key for key in self._keys(folder) if key.startswith(prefix)))

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""
        with _told("delete", self.path(key)), suppress(*_ABSENT):
            self.path(key).unlink()

    def _open(self, key: str) -> IO[bytes]:
        try:
            return self.path(key).open("rb")
        except _ABSENT as error:
            raise ObjectMissing(f"There is no file `{self.path(key)}`.") from error

    def _keys(self, folder: Path) -> Iterator[str]:
        for parent, _, names in os.walk(folder, onerror=_unless_absent):
            for name in names:
                key = (Path(parent) / name).relative_to(self.root).as_posix()
                with suppress(InvalidInput):  # leftovers, and files that somebody else put there
                    yield check_key(key)

    @contextmanager
    def _finished_file(self, target: Path, data: bytes | Iterable[bytes]) -> Iterator[Path]:
        _make_folder(target.parent)
        unfinished = target.parent / f"{LEFTOVER}{secrets.token_hex(8)}"
        try:
            with unfinished.open("xb") as file:
                for piece in [data] if isinstance(data, bytes) else data:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            yield unfinished
        finally:  # renamed by now, unless something went wrong or it was linked
            unfinished.unlink(missing_ok=True)


def _unless_absent(error: OSError) -> None:
    if not isinstance(error, _ABSENT):  # a folder that nobody made is an empty one; one that cannot be read is not
        raise error


def _make_folder(folder: Path) -> None:
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _flush_folder(new.parent)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot flush a folder, and say it this way
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _told(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
            cause = "a file stands where a folder is needed, or the other way round"
        elif error.errno in {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK} and action == "create":
            cause = "this file system has no hard links; keep the store on another one"
        else:
            cause = f"{error.strerror or error}"
        raise StorageFailed(f"Could not {action} the file `{path}`: {cause}.") from error
