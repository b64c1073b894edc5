"""Execution rows on their way into Postgres: one pass, spooled in the text format of `COPY`, and digested."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import IO

from sqlalchemy.dialects.postgresql import JSONB

from bench_assets.contracts.base import JsonValue, clean_json, clean_text, dump_json
from bench_assets.storage.postgres.rows import ExecutionRow, without_nul
from bench_assets.storage.postgres.schema import VOLATILE_EXECUTION_COLUMNS, executions

IN_MEMORY = 16 << 20
"""Bytes of rows that are kept in memory before they go to a temporary file."""

_VOLATILE = frozenset(VOLATILE_EXECUTION_COLUMNS)
_JSON = frozenset(column.name for column in executions.columns if isinstance(column.type, JSONB))
COLUMNS = tuple(column.name for column in executions.columns if column.name != "run_id")
_STABLE = tuple(number for number, name in enumerate(COLUMNS) if name not in _VOLATILE)
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": "\ufffd"})


@dataclass(frozen=True)
class SpooledRows:
    """Rows that wait for `COPY`."""

    file: IO[bytes]
    count: int
    digest: str
    """The same for the same rows in any order; volatile columns do not count."""


@contextmanager
def spooled_rows(run_id: str, rows: Iterable[ExecutionRow]) -> Iterator[SpooledRows]:
    """Read `rows` once and yield them as a file for `COPY executions (run_id, …) FROM STDIN`."""
    start = _field(run_id)
    count = total = 0
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        for row in rows:
            fields = [write(getattr(row, name)) for name, write in _WRITERS]
            file.write(_utf8("\t".join((start, *fields))) + b"\n")
            # A sum of digests does not depend on the rows' order, and needs no memory.
            total += int.from_bytes(sha256(_utf8("\t".join([fields[number] for number in _STABLE]))).digest())
            count += 1
        yield SpooledRows(file, count, sha256(f"{count}:{total}".encode()).hexdigest())


def _field(value: str | float | bool | datetime | None) -> str:
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    if value is None:
        return r"\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _json_field(value: JsonValue) -> str:
    if value is None:
        return r"\N"
    text = dump_json(value).decode("utf-8")
    if r"\u0000" in text:  # which jsonb refuses
        text = dump_json(without_nul(clean_json(value))).decode("utf-8")
    return text.translate(_ESCAPES)


def _utf8(line: str) -> bytes:
    try:
        return line.encode("utf-8")
    except UnicodeEncodeError:
        return clean_text(line).encode("utf-8")


_WRITERS = tuple((name, _json_field if name in _JSON else _field) for name in COLUMNS)
