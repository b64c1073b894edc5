"""The verdicts of one judge in a store: immutable segments under `verdicts/<judge>/`.

A segment is a `.jsonl` of any number of verdicts and is never changed. Writers need no lock: each has names of its own,
and the same content in two segments is no contradiction, since the earlier verdict counts everywhere. Merging writes
the new segment before it deletes the old ones, so a reader that misses one lists again.
"""

import logging
import secrets
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Protocol

from bench_assets.errors import ObjectMissing
from bench_assets.judging.kept.lines import KeptLine, read_line

logger = logging.getLogger(__name__)

LISTINGS = 5
"""How often a reader lists again because another process merged meanwhile."""

READERS = 8
"""Segments read at once: a request to S3 is mostly waiting."""


class ObjectStore(Protocol):
    """What verdicts need of a store."""

    def url(self, key: str) -> str:
        """Return where the object is, as a person would paste it."""

    def read(self, key: str) -> bytes:
        """Return the whole object. Raises ObjectMissing."""

    def write(self, key: str, data: bytes) -> None:
        """Store the object, whole or not at all; durable on return."""

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin with `prefix`, sorted."""

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""


class Segments:
    """The segments of one judge. Raises StorageFailed wherever the store does not do as asked."""

    def __init__(self, store: ObjectStore, *, judge: str) -> None:
        """`judge` is the digest of the judge's identity. Nothing is read yet."""
        self._store = store
        self._prefix = f"verdicts/{judge}/"
        self.sizes: dict[str, int] = {}
        """Bytes of each segment that is known here, by its key."""

    def read(self) -> dict[str, KeptLine]:
        """Return all verdicts that are kept, by the content's key. Bad lines are left out with a warning."""
        found: dict[str, bytes] = {}
        for _ in range(LISTINGS):
            keys = [key for key in self._store.list(self._prefix) if key not in found]
            with ThreadPoolExecutor(READERS, thread_name_prefix="bench-assets-verdicts") as pool:
                parts = list(pool.map(self._read_or_none, keys))
            found |= {key: data for key, data in zip(keys, parts, strict=True) if data is not None}
            if None not in parts:
                break
        self.sizes = {key: len(data) for key, data in found.items()}
        return earliest(line for key, data in found.items() for line in self._lines(key, data))

    def write(self, lines: Iterable[KeptLine]) -> str:
        """Keep verdicts in a new segment and return its key. They are durable on return."""
        key = f"{self._prefix}{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}.jsonl"
        data = b"".join(line.raw + b"\n" for line in lines)
        self._store.write(key, data)
        self.sizes[key] = len(data)
        return key

    def merge(self, keys: list[str]) -> None:
        """Put the segments `keys` into one."""
        parts = {key: data for key in keys if (data := self._read_or_none(key)) is not None}
        lines = earliest(line for key, data in parts.items() for line in self._lines(key, data))
        if lines:
            self.write(lines.values())
        for key in keys:
            self._store.delete(key)
            self.sizes.pop(key, None)

    def _read_or_none(self, key: str) -> bytes | None:
        try:
            return self._store.read(key)
        except ObjectMissing:
            return None

    def _lines(self, key: str, data: bytes) -> Iterator[KeptLine]:
        bad = 0
        for raw in data.split(b"\n"):
            line = read_line(raw) if raw else None
            if line is not None:
                yield line
            elif raw:
                bad += 1
        if bad:
            logger.warning(
                "%d kept verdicts in `%s` are damaged and ignored; their answers are judged anew",
                bad,
                self._store.url(key),
            )


def earliest(lines: Iterable[KeptLine]) -> dict[str, KeptLine]:
    """Return the verdict that counts for each content."""
    found: dict[str, KeptLine] = {}
    for line in lines:
        other = found.get(line.key)
        if other is None or line.rank < other.rank:
            found[line.key] = line
    return found
