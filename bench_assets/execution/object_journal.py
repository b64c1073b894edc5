"""A journal in an object store: numbered segments, each whole or absent."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self

from bench_assets.closing import Closing
from bench_assets.contracts.answer import SettledExecution
from bench_assets.errors import JournalDamaged, ObjectMissing, ShardBusy, StorageFailed
from bench_assets.execution.group_commit import GroupCommit
from bench_assets.execution.journal_lines import check_header, header_line, read_record
from bench_assets.execution.lease import Lease
from bench_assets.execution.settled_index import SettledIndex

SECONDS = 2.0
"""A record waits at most so long for its segment to fill up."""
TRIES = 5
"""Writes of one segment, with pauses of 0.5, 1, 2 and 4 seconds between them; the client repeats on its own besides."""
OFFSET_BITS = 40
"""A record's place is its segment's number shifted by so many bits, plus its offset there."""
RECENT = 8 << 20
"""Bytes of segments that are kept in memory, so that a record costs no request: those written or read last."""
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


class _Recent:
    """The segments written or read last. Safe for threads: the journal's own writes them, the shard's reads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, number: int) -> bytes | None:
        """Return a segment; None when it is not kept."""
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
            return self._kept.get(number)

    def keep(self, number: int, data: bytes) -> None:
        """Keep a segment, and forget others that were not used for longest."""
        with self._lock:
            self._size += len(data) - len(self._kept.pop(number, b""))
            self._kept[number] = data
            while self._size > RECENT and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])

    def forget(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()
            self._size = 0


class SegmentRecords:
    """The records of a shard's segments by execution. See `bench_assets.execution.journal.SettledRecords`."""

    def __init__(self, store: ObjectStore, *, prefix: str, run_id: str, shard: str) -> None:
        """Read all segments. Raises JournalDamaged, StorageFailed."""
        self._store = store
        self._prefix = prefix
        self._index = SettledIndex(self._record)
        self._last = 0
        self._recent = _Recent()
        for number, data in _segments(store, prefix):
            self._last = number
            for offset, record, length in _scan(data, run_id=run_id, shard=shard, where=_key(prefix, number)):
                self._index.note(record, place=number << OFFSET_BITS | offset, length=length)
            self._recent.keep(number, data)

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
        """Forget the segments that were read last."""
        self._recent.forget()

    def _record(self, number: int) -> SettledExecution:
        place, length = self._index.place(number)
        segment, offset = place >> OFFSET_BITS, place & ((1 << OFFSET_BITS) - 1)
        data = self._recent.get(segment)
        if data is None:
            data = self._store.read(_key(self._prefix, segment))
            self._recent.keep(segment, data)
        where = f"`{_key(self._prefix, segment)}` at byte {offset}"
        return read_record(data[offset : offset + length], where=where)


class ObjectJournal(Closing, SegmentRecords):
    """Appends segments to a store. See `bench_assets.execution.journal.Journal`.

    Two processes never interleave: a lease keeps the second one out, and should the lease fail (a long pause of the
    whole machine), each segment's number can be taken only once, so that the first of two to write stops the other.
    """

    def __init__(self, store: ObjectStore, *, prefix: str, run_id: str, shard: str, flush_every: int) -> None:
        """Take the lease, read all segments. Raises ShardBusy, JournalDamaged, StorageFailed."""
        self._header = header_line(run_id=run_id, shard=shard)
        self._unplaced: list[int] = []
        self._closed = False
        self._lease = Lease(store, key=f"{prefix}/lease.json", shard=f"shard `{shard}` of run `{run_id}`")
        try:
            super().__init__(store, prefix=prefix, run_id=run_id, shard=shard)
            self._group = GroupCommit(self._commit, rows=flush_every, seconds=SECONDS, name=f"journal-{shard}")
        except BaseException:
            self._lease.release()
            raise

    def append(self, record: SettledExecution) -> None:
        """Take a record on; returns before it is durable."""
        line = record.to_line()
        self._unplaced.append(self._index.note(record, place=0, length=len(line)))
        self._group.put(line)

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

    def _commit(self, lines: Sequence[bytes]) -> None:
        self._lease.check()
        number = self._last + 1
        data = b"".join((self._header, *lines))
        self._create(_key(self._prefix, number), data)
        self._recent.keep(number, data)
        self._last = number
        place = number << OFFSET_BITS | len(self._header)
        for execution, line in zip(self._unplaced[: len(lines)], lines, strict=True):
            self._index.move(execution, place=place)
            place += len(line)
        del self._unplaced[: len(lines)]

    def _record(self, number: int) -> SettledExecution:
        if number in self._unplaced:
            self.flush()
        return super()._record(number)

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
