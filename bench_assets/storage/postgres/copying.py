"""Execution rows on their way into Postgres: read once, encoded while `COPY` takes them, and digested."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import IO

from bench_assets.contracts.base import clean_text
from bench_assets.storage.postgres.encoding import encoded, text_field
from bench_assets.storage.postgres.rows import ExecutionRow

IN_MEMORY = 1 << 20
"""Bytes of encoded rows that are kept in memory before they go to a temporary file."""

TOGETHER = 1 << 16
"""Bytes of lines that are handed on at once, or one line where it is longer."""


class RowStream:
    """A file for `COPY executions (run_id, …) FROM STDIN` whose lines are made when they are asked for.

    What was made is spooled, so that it can be read from the start again when a connection breaks.
    """

    def __init__(self, run_id: str, rows: Iterable[ExecutionRow], spool: IO[bytes]) -> None:
        """Read nothing of `rows` yet."""
        self._start = text_field(clean_text(run_id)).encode("utf-8")
        self._rows = iter(rows)
        self._spool = spool
        self._count = self._total = 0
        self.failure: BaseException | None = None
        """What the making of a row raised; None as long as nothing did."""

    def rewind(self) -> None:
        """Start from the first line again."""
        self._spool.seek(0)

    def read(self, size: int = 1 << 20) -> bytes:
        """Return some of the lines that follow; nothing at the end. Raises what making a row raises."""
        try:
            return self._spool.read(size) or self._make()
        except BaseException as failure:
            self.failure = failure
            raise

    def digest(self) -> str:
        """Make what is still to be made, and return a digest of all rows.

        It is the same for the same rows in any order; volatile columns do not count.
        """
        self._spool.seek(0, 2)
        while self._make():
            pass
        return sha256(f"{self._count}:{self._total}".encode()).hexdigest()

    def _make(self) -> bytes:
        lines, size = [], 0
        for row in self._rows:
            stable, volatile = encoded(row)
            lines.append(b"%b\t%b\t%b\n" % (self._start, stable, volatile))
            # A sum of digests does not depend on the rows' order, and needs no memory.
            self._total += int.from_bytes(sha256(stable).digest())
            self._count += 1
            size += len(lines[-1])
            if size >= TOGETHER:
                break
        made = b"".join(lines)
        self._spool.write(made)
        return made


@contextmanager
def row_stream(run_id: str, rows: Iterable[ExecutionRow]) -> Iterator[RowStream]:
    """Yield the rows as a file for `COPY`; they are read once, however often the file is."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as spool:
        yield RowStream(run_id, rows, spool)
