"""A journal that is a file of this machine."""

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bench_assets.closing import Closing
from bench_assets.contracts.answer import SettledExecution
from bench_assets.errors import StorageFailed
from bench_assets.execution.group_commit import GroupCommit
from bench_assets.execution.journal_lines import check_header, header_line, is_json, read_record
from bench_assets.execution.settled_index import SettledIndex
from bench_assets.execution.shard_lock import ShardLock

logger = logging.getLogger(__name__)


class LocalJournal(Closing):
    """Appends to one file and flushes it to the disk in groups. See `bench_assets.execution.journal.Journal`."""

    def __init__(self, path: Path, *, run_id: str, shard: str) -> None:
        """Lock the shard, read the file, cut off a torn end. Raises ShardBusy, JournalDamaged, StorageFailed."""
        self._path = path
        self._index = SettledIndex(self._record)
        self._lock = ShardLock(path.with_suffix(".lock"), shard=f"shard `{shard}` of run `{run_id}`")
        try:
            with _told(path, "opened"):
                self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                self._end = self._recover(run_id=run_id, shard=shard)
                self._durable_end = self._end
                self._group = GroupCommit(self._commit, rows=256, seconds=0.005, name=f"journal-{shard}")
            except BaseException:
                os.close(self._file)
                raise
        except BaseException:
            self._lock.release()
            raise

    def settled(self) -> SettledIndex:
        """Return what is settled, by execution_id."""
        return self._index

    def read(self, execution_id: str) -> SettledExecution:
        """Return the last record of an execution. Raises KeyError for one that is not settled."""
        return self._record(self._index.number(execution_id))

    def append(self, record: SettledExecution) -> None:
        """Take a record on; returns before it is durable."""
        line = record.to_line()
        self._group.put(line)
        self._index.note(record, place=self._end, length=len(line))
        self._end += len(line)

    def durable(self) -> int:
        """Return how many of the appended records are durable."""
        return self._group.durable()

    def flush(self) -> None:
        """Wait until everything appended is durable."""
        self._group.flush()

    def close(self) -> None:
        """Make everything durable, and leave the shard to other processes. A second call does nothing."""
        if self._file < 0:
            return
        try:
            self._group.close()
        finally:
            os.close(self._file)
            self._file = -1
            self._lock.release()

    def _record(self, number: int) -> SettledExecution:
        offset, length = self._index.place(number)
        if offset + length > self._durable_end:
            self.flush()
        return _record_at(self._file, offset, length, path=self._path)

    def _recover(self, *, run_id: str, shard: str) -> int:
        """Index the file, cut off what a crash left at its end, return the length that is good."""
        end = 0
        with _told(self._path, "read"):
            for offset, record, length in _scan(self._path, run_id=run_id, shard=shard):
                end = offset + length
                if record is not None:
                    self._index.note(record, place=offset, length=length)
            torn = os.fstat(self._file).st_size - end
        with _told(self._path, "written"):
            if torn:
                logger.warning(
                    "The journal `%s` ended in %d bytes of a line that a crash left unfinished. They are cut off; the "
                    "execution they were about is asked again.",
                    self._path,
                    torn,
                )
                os.ftruncate(self._file, end)
            if end == 0:
                header = header_line(run_id=run_id, shard=shard)
                os.pwrite(self._file, header, 0)
                end = len(header)
            os.fsync(self._file)
            _flush_folder(self._path.parent)
        return end

    def _commit(self, lines: Sequence[bytes]) -> None:
        data = memoryview(b"".join(lines))
        end = self._durable_end
        try:
            while data:
                written = os.pwrite(self._file, data, end)
                data, end = data[written:], end + written
            os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)
        except OSError as error:
            # Rows that may be whole on the disk go too: after a failed flush nobody can tell, and none was counted.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._durable_end)
            raise StorageFailed(
                f"The journal `{self._path}` could not be written: {error.strerror}. Everything settled before is "
                "intact. Make room (or the folder writable) and materialize the shard again: it goes on from there."
            ) from error
        self._durable_end = end


class LocalRecords:
    """A file's records by execution, without a lock. See `bench_assets.execution.journal.SettledRecords`."""

    def __init__(self, path: Path, *, run_id: str, shard: str) -> None:
        """Read the file, where there is one. Raises JournalDamaged, StorageFailed."""
        self._path = path
        self._index = SettledIndex(self._record)
        self._file = -1
        with _told(path, "read"):
            if not path.exists():
                return
            for offset, record, length in _scan(path, run_id=run_id, shard=shard):
                if record is not None:
                    self._index.note(record, place=offset, length=length)
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def settled(self) -> SettledIndex:
        """Return what is settled, by execution_id."""
        return self._index

    def read(self, execution_id: str) -> SettledExecution:
        """Return the last record of an execution. Raises KeyError for one that is not settled."""
        return self._record(self._index.number(execution_id))

    def __enter__(self) -> Self:
        """Return the records."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _record(self, number: int) -> SettledExecution:
        return _record_at(self._file, *self._index.place(number), path=self._path)


def _record_at(file: int, offset: int, length: int, *, path: Path) -> SettledExecution:
    with _told(path, "read"):
        line = os.pread(file, length, offset)
    return read_record(line, where=f"`{path}` at byte {offset}")


def read_file(path: Path, *, run_id: str, shard: str) -> Iterator[SettledExecution]:
    """Yield a file's records without a lock; see `bench_assets.execution.journal.read_settled`."""
    if path.exists():
        with _told(path, "read"):
            for _, record, _ in _scan(path, run_id=run_id, shard=shard):
                if record is not None:
                    yield record


def count_lines(path: Path) -> int:
    """Return how many records a file seems to hold: its lines but the first; 0 for none."""
    if not path.exists():
        return 0
    with _told(path, "read"), path.open("rb", buffering=0) as file:
        return max(0, sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 18), b"")) - 1)


def _scan(path: Path, *, run_id: str, shard: str) -> Iterator[tuple[int, SettledExecution | None, int]]:
    r"""Yield offset, record (None: the header) and length of each line; stop at a torn end.

    Torn is a last line without `\n`, or one that is no JSON: a power cut can keep the end of a group and not its
    middle.
    """
    offset = 0
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        for number, line in enumerate(file, start=1):
            last = offset + len(line) >= size
            if not line.endswith(b"\n") or (last and not is_json(line)):
                return
            if number == 1:
                check_header(line, run_id=run_id, shard=shard, where=f"`{path}`")
                yield offset, None, len(line)
            else:
                yield offset, read_record(line, where=f"`{path}`", number=number), len(line)
            offset += len(line)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _told(path: Path, action: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"The journal `{path}` could not be {action}: {error.strerror}.") from error
