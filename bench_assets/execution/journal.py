"""The journal: every settled execution of a shard, kept as it settles.

One line of JSON an execution, after a first line that says whose journal it is. A later line on the same execution
replaces an earlier one. In a folder that is one file, `<place>/<run_id>/<shard>.jsonl`; in an object store it is
numbered segments, `<place>/<run_id>/<shard>/00000001.jsonl`, each with that first line. Any text editor reads both.
"""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from bench_assets.contracts.answer import SettledExecution
from bench_assets.execution.journal_lines import SettledStatus
from bench_assets.execution.local_journal import LocalJournal, LocalRecords, count_lines, read_file
from bench_assets.execution.object_journal import ObjectJournal, ObjectStore, SegmentRecords, read_segments
from bench_assets.execution.settled_index import SettledIndex

__all__ = [
    "Journal",
    "ObjectStore",
    "SettledIndex",
    "SettledRecords",
    "SettledStatus",
    "count_records",
    "open_journal",
    "open_settled",
    "read_settled",
]


class SettledRecords(Protocol):
    """What is settled in one shard. Holds no answers in memory, but about 40 bytes an execution."""

    def settled(self) -> SettledIndex:
        """Return what is settled, by execution_id: a mapping to how each stands."""

    def read(self, execution_id: str) -> SettledExecution:
        """Return the last record of an execution. Raises KeyError for one that is not settled."""

    def __enter__(self) -> Self:
        """Return the records."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close what is open."""


class Journal(SettledRecords, Protocol):
    """One shard's journal, open for writing by this process alone.

    What is settled is that of earlier processes, and what this one appended. Every method raises StorageFailed when the
    journal cannot be written any more (a full disk, a store that fails), and ShardBusy when another process took the
    shard over; what is durable by then stays intact.
    """

    def append(self, record: SettledExecution) -> None:
        """Take a record on; returns before it is durable. May wait when very much is on its way to the disk.

        Whatever is waiting when the disk or store is free becomes durable together, so one flush serves many records.
        """

    def durable(self) -> int:
        """Return how many of the records appended by this process are durable: always the first ones, in order."""

    def flush(self) -> None:
        """Wait until everything appended is durable."""

    def close(self) -> None:
        """Make everything durable, and leave the shard to other processes."""


@runtime_checkable
class _FileStore(Protocol):
    """An object store that is a folder: it can name the file of a key."""

    def path(self, key: str) -> Path:
        """Return the file of `key`."""


Place = Path | ObjectStore
"""A folder, or an object store. A store with `path(key) -> Path` is a folder as well, and is used as one."""


def open_journal(place: Place, *, prefix: str = "", run_id: str, shard: str, flush_every: int) -> Journal:
    """Open a shard's journal and read what it holds.

    Args:
        place: where journals are kept.
        prefix: the part of the path or key before the run_id; "" for none.
        run_id: the run.
        shard: the shard's key.
        flush_every: records a segment, in an object store (it also writes one every two seconds). In a folder each
            record is written at once.

    Raises:
        ShardBusy: another process has the shard's journal open.
        JournalDamaged: it holds something that no writer leaves behind. The torn end that a crash does leave is cut
            off, with a warning in the log.
        StorageFailed: it cannot be read or written.
    """
    file = _file(place, prefix=prefix, run_id=run_id, shard=shard)
    if file is not None:
        return LocalJournal(file, run_id=run_id, shard=shard)
    assert not isinstance(place, Path)
    key = "/".join(filter(None, (prefix.strip("/"), run_id, shard)))
    return ObjectJournal(place, prefix=key, run_id=run_id, shard=shard, flush_every=flush_every)


def read_settled(place: Place, *, prefix: str = "", run_id: str, shard: str) -> Iterator[SettledExecution]:
    """Yield the records of a journal in the order they were written, changing nothing and taking no lock.

    An execution that was settled again comes again: the last one counts. A journal that does not exist yields nothing,
    and a torn end is left out. For looking at a run that is under way or was stopped. Raises JournalDamaged.
    """
    file = _file(place, prefix=prefix, run_id=run_id, shard=shard)
    if file is not None:
        return read_file(file, run_id=run_id, shard=shard)
    assert not isinstance(place, Path)
    key = "/".join(filter(None, (prefix.strip("/"), run_id, shard)))
    return read_segments(place, prefix=key, run_id=run_id, shard=shard)


def open_settled(place: Place, *, prefix: str = "", run_id: str, shard: str) -> SettledRecords:
    """Open what a journal holds by now, to be read in any order, changing nothing and taking no lock.

    For looking at a run, as `read_settled`. Raises JournalDamaged.
    """
    file = _file(place, prefix=prefix, run_id=run_id, shard=shard)
    if file is not None:
        return LocalRecords(file, run_id=run_id, shard=shard)
    assert not isinstance(place, Path)
    key = "/".join(filter(None, (prefix.strip("/"), run_id, shard)))
    return SegmentRecords(place, prefix=key, run_id=run_id, shard=shard)


def count_records(place: Place, *, prefix: str = "", run_id: str, shard: str) -> int | None:
    """Return how many records a journal holds, without a look into them; None in an object store, where it would cost.

    An execution that was settled again counts again.
    """
    file = _file(place, prefix=prefix, run_id=run_id, shard=shard)
    return None if file is None else count_lines(file)


def _file(place: Place, *, prefix: str, run_id: str, shard: str) -> Path | None:
    if isinstance(place, Path):
        return place.joinpath(*filter(None, prefix.split("/")), run_id, f"{shard}.jsonl")
    if isinstance(place, _FileStore):
        return place.path("/".join(filter(None, (prefix.strip("/"), run_id, f"{shard}.jsonl"))))
    return None
