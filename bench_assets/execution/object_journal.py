"""A journal in an object store: numbered segments, each whole or absent."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from bench_assets.contracts.answer import SettledExecution
from bench_assets.errors import JournalDamaged, ObjectMissing, ShardBusy, StorageFailed
from bench_assets.execution.group_commit import GroupCommit
from bench_assets.execution.journal_lines import (
    SettledStatus,
    check_header,
    header_line,
    read_record,
    record_line,
    status_of,
)
from bench_assets.execution.lease import Lease

SECONDS = 2.0
"""A record waits at most so long for its segment to fill up."""
TRIES = 5
"""Writes of one segment, with pauses of 0.5, 1, 2 and 4 seconds between them; the client repeats on its own besides."""
_SEGMENT = re.compile(r"/(\d{8})\.jsonl$")


class ObjectStore(Protocol):
    """What a journal needs of a store."""

    def read(self, key: str) -> bytes:
        """Return the whole object. Raises ObjectMissing."""

    def create(self, key: str, data: bytes) -> bool:
        """Store the object only where there is none. Of any number of writers at once exactly one gets True."""

    def write(self, key: str, data: bytes) -> None:
        """Store the object whole, in place of an older one."""

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin with `prefix`, sorted."""

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""


class ObjectJournal:
    """Appends segments to a store. See `bench_assets.execution.journal.Journal`.

    Two processes never interleave: a lease keeps the second one out, and should the lease fail (a long pause of the
    whole machine), each segment's number can be taken only once, so that the first of two to write stops the other.
    """

    def __init__(self, store: ObjectStore, *, prefix: str, run_id: str, shard: str, flush_every: int) -> None:
        """Take the lease, read all segments. Raises ShardBusy, JournalDamaged, StorageFailed."""
        self._store = store
        self._prefix = prefix
        self._header = header_line(run_id=run_id, shard=shard)
        self._status: dict[str, SettledStatus] = {}
        self._place: dict[str, tuple[int, int, int]] = {}
        self._segment = (0, b"")
        self._unplaced: list[str] = []
        self._closed = False
        self._lease = Lease(store, key=f"{prefix}/lease.json", shard=f"shard `{shard}` of run `{run_id}`")
        try:
            self._last = 0
            for number, data in _segments(store, prefix):
                self._last = number
                for offset, record, length in _scan(data, run_id=run_id, shard=shard, where=_key(prefix, number)):
                    self._status[record.execution_id] = status_of(record)
                    self._place[record.execution_id] = (number, offset, length)
            self._group = GroupCommit(self._commit, rows=flush_every, seconds=SECONDS, name=f"journal-{shard}")
        except BaseException:
            self._lease.release()
            raise

    def settled(self) -> Mapping[str, SettledStatus]:
        """Return what is settled, by execution_id."""
        return self._status

    def read(self, execution_id: str) -> SettledExecution:
        """Return the last record of an execution. Raises KeyError for one that is not settled."""
        if execution_id in self._unplaced:
            self.flush()
        number, offset, length = self._place[execution_id]
        if self._segment[0] != number:  # neighbours are read one after the other
            self._segment = (number, self._store.read(_key(self._prefix, number)))
        where = f"`{_key(self._prefix, number)}` at byte {offset}"
        return read_record(self._segment[1][offset : offset + length], where=where)

    def append(self, record: SettledExecution) -> None:
        """Take a record on; returns before it is durable."""
        self._unplaced.append(record.execution_id)
        try:
            self._group.put(record_line(record))
        except BaseException:
            self._unplaced.pop()
            raise
        self._status[record.execution_id] = status_of(record)

    def durable(self) -> int:
        """Return how many of the appended records are durable."""
        return self._group.durable()

    def flush(self) -> None:
        """Wait until everything appended is durable."""
        self._group.flush()

    def close(self) -> None:
        """Make everything durable, and leave the shard to other processes. A second call does nothing."""
        if not self._closed:
            self._closed = True
            try:
                self._group.close()
            finally:
                self._lease.release()

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the journal."""
        self.close()

    def _commit(self, lines: Sequence[bytes]) -> None:
        self._lease.check()
        number = self._last + 1
        data = b"".join((self._header, *lines))
        self._create(_key(self._prefix, number), data)
        self._last = number
        offset = len(self._header)
        for execution_id, line in zip(self._unplaced[: len(lines)], lines, strict=True):
            self._place[execution_id] = (number, offset, len(line))
            offset += len(line)
        del self._unplaced[: len(lines)]

    def _create(self, key: str, data: bytes) -> None:
        for attempt in range(TRIES):
            try:
                # A write that seemed to fail may have succeeded: then the object is there, and it is ours.
                if self._store.create(key, data) or (attempt and self._store.read(key) == data):
                    return
            except StorageFailed as error:
                if attempt == TRIES - 1:
                    raise StorageFailed(
                        f"The journal's segment `{key}` could not be written in {TRIES} tries: {error} Everything in "
                        "earlier segments is kept. Materialize the shard again when the store works: it goes on."
                    ) from error
                time.sleep(0.5 * 2**attempt)
            else:
                raise ShardBusy(
                    f"`{key}` was written by another process, so two of them work on this shard. This one stops; what "
                    "both had finished before is kept. Materialize the shard again when the other one is done."
                )


def read_segments(store: ObjectStore, *, prefix: str, run_id: str, shard: str) -> Iterator[SettledExecution]:
    """Yield the records of all segments without a lease; see `bench_assets.execution.journal.read_settled`."""
    for number, data in _segments(store, prefix):
        for _, record, _ in _scan(data, run_id=run_id, shard=shard, where=_key(prefix, number)):
            yield record


def _key(prefix: str, number: int) -> str:
    return f"{prefix}/{number:08d}.jsonl"


def _segments(store: ObjectStore, prefix: str) -> Iterator[tuple[int, bytes]]:
    for key in store.list(f"{prefix}/"):
        match = _SEGMENT.search(key)
        if match and key == _key(prefix, int(match[1])):
            try:
                yield int(match[1]), store.read(key)
            except ObjectMissing:  # deleted between the listing and now: somebody tidies up
                continue


def _scan(data: bytes, *, run_id: str, shard: str, where: str) -> Iterator[tuple[int, SettledExecution, int]]:
    *lines, rest = data.split(b"\n")
    if rest or not lines:
        raise JournalDamaged(f"`{where}` does not end with a whole line, but stores keep objects whole. Restore it.")
    check_header(lines[0], run_id=run_id, shard=shard, where=f"`{where}`")
    offset = len(lines[0]) + 1
    for number, line in enumerate(lines[1:], start=2):
        yield offset, read_record(line, where=f"`{where}`", number=number), len(line) + 1
        offset += len(line) + 1
