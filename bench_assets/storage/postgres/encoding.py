"""An execution row in the text format of `COPY`."""

from collections.abc import Callable
from datetime import datetime
from json import JSONEncoder
from typing import Any

from sqlalchemy.dialects.postgresql import JSONB

from bench_assets.contracts.base import JsonValue, clean_json, clean_text, dump_json
from bench_assets.storage.postgres.rows import ExecutionRow, without_nul
from bench_assets.storage.postgres.schema import VOLATILE_EXECUTION_COLUMNS, executions

COLUMNS = ExecutionRow._fields
"""The columns of a line, in their order; the table has a `run_id` before them."""

assert COLUMNS[-len(VOLATILE_EXECUTION_COLUMNS) :] == VOLATILE_EXECUTION_COLUMNS, "the volatile ones come last"

_JSON_AT = [number for number, name in enumerate(COLUMNS) if isinstance(executions.c[name].type, JSONB)]
_STARTED_AT = COLUMNS.index("started_at")
_NULL = r"\N"
_ESCAPES = (("\\", r"\\"), ("\n", r"\n"), ("\r", r"\r"), ("\t", r"\t"), ("\0", "\ufffd"))
"""The backslash comes first, as the others bring new ones."""

_BETWEEN, _NOTHING = "\x1f", "\x1e"
"""Stand between fields and for NULL until the line is escaped as a whole, which is faster than field by field."""

_to_json = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encoded(row: ExecutionRow) -> tuple[bytes, bytes]:
    """Return a row's stable columns, which tell two results apart, and its volatile ones, without the line's end."""
    try:
        return _encoded(row, _json_text)
    except UnicodeEncodeError:  # a lone surrogate
        return _encoded(row, _clean_json_text)


def text_field(text: str) -> str:
    """Return `text` as a field of a line."""
    for sign, written in _ESCAPES:
        if sign in text:
            text = text.replace(sign, written)
    return text


def _encoded(row: ExecutionRow, to_json: Callable[[JsonValue], str]) -> tuple[bytes, bytes]:
    values: list[Any] = list(row)
    for at in _JSON_AT:
        if values[at] is not None:
            values[at] = to_json(values[at])
    if row.started_at is not None:
        values[_STARTED_AT] = _time_text(row.started_at)
    fields = [value if type(value) is str else _NOTHING if value is None else _plain(value) for value in values]
    line = _BETWEEN.join(fields)
    if line.count(_BETWEEN) == len(COLUMNS) - 1 and line.count(_NOTHING) == values.count(None):
        line = text_field(line).replace(_NOTHING, _NULL).replace(_BETWEEN, "\t")
    else:  # somebody's text holds one of the two signs
        line = "\t".join(
            _NULL if value is None else text_field(field) for value, field in zip(values, fields, strict=True)
        )
    if to_json is _clean_json_text:
        line = clean_text(line)
    stable, *volatile = line.rsplit("\t", len(VOLATILE_EXECUTION_COLUMNS))
    return stable.encode("utf-8"), "\t".join(volatile).encode("utf-8")


def _plain(value: float | bool) -> str:
    if isinstance(value, bool):
        return "t" if value else "f"
    return str(value)


def _time_text(text: str) -> str:
    """Return a time as the digests of earlier releases have it: without microseconds where there are none."""
    if len(text) == _USUAL_LENGTH and text[19:] != ".000000+00:00" and text.endswith("+00:00"):
        return text
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:  # Postgres says what is wrong with it
        return text


_USUAL_LENGTH = len("2026-01-01T00:00:00.123456+00:00")


def _json_text(value: JsonValue) -> str:
    try:
        text = _to_json(value)
    except (ValueError, TypeError):  # NaN, or what is no JSON
        return _clean_json_text(value)
    return _clean_json_text(value) if r"\u0000" in text else text


def _clean_json_text(value: JsonValue) -> str:
    text = dump_json(value).decode("utf-8")
    if r"\u0000" in text:  # which jsonb refuses
        text = dump_json(without_nul(clean_json(value))).decode("utf-8")
    return text
