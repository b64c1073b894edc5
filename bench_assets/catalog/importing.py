"""Turns tables that people have into `dataset.jsonl`, keeping every text as it stands in the file.

CSV and TSV (first line: names of the columns), JSON (an array of objects) and JSONL, each also gzipped. Nothing is
guessed: `NA`, `null`, `None` and `00123` in a table are texts, and a number in JSON keeps its spelling.
"""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_assets.contracts.base import JsonValue, dump_json
from bench_assets.errors import InvalidBenchmark

Row = dict[str, Any]

csv.field_size_limit(64 * 1024 * 1024)


def import_rows(
    path: Path, *, question: str, golden: str, identity: str | None = None, meta: tuple[str, ...] = ()
) -> Iterator[bytes]:
    """Yield the lines of a dataset.

    Args:
        path: the table; its format is told by its name's ending.
        question: the column or key of the question.
        golden: that of the reference answer; in JSON it may be a list of several.
        identity: that of the id; None makes ids from the questions' text, so that an id stays when rows move.
        meta: columns or keys that go into `meta`.

    Raises:
        InvalidBenchmark: for a file that is no such table, or a row without one of the fields, with its line or number.
    """
    seen: dict[str, int] = {}
    for line, row in _rows(path):
        missing = [name for name in (question, golden, *([identity] if identity else []), *meta) if name not in row]
        if missing:
            has = ", ".join(f"`{name}`" for name in row) or "nothing"
            raise InvalidBenchmark(f"the row has no `{missing[0]}`; it has {has}", path=path, line=line)
        asked = _text(row[question])
        name = _text(row[identity]) if identity else f"q-{hashlib.sha256(asked.encode()).hexdigest()[:10]}"
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1 and identity is None:
            name = f"{name}-{seen[name]}"  # the same question twice
        value = row[golden]
        record: JsonValue = {
            "id": name,
            "question": asked,
            "golden": [_text(item) for item in _flat(value)] if isinstance(value, list) else _text(value),
            "meta": {key: row[key] for key in meta},
        }
        yield dump_json(record) + b"\n"


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidBenchmark(f"cannot be read as UTF-8 text: {error}", path=path) from error
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if ending == ".csv":
        yield from _comma_separated(text, path)
    elif ending == ".tsv":
        yield from _tab_separated(text, path)
    elif ending == ".jsonl":
        yield from ((n, _object(line, path, n)) for n, line in enumerate(text.split("\n"), start=1) if line.strip())
    elif ending == ".json":
        values = _parse(text, path, None)
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise InvalidBenchmark("must hold an array of objects", path=path)
        yield from enumerate(values, start=1)
    else:
        raise InvalidBenchmark(
            f"ends in `{ending}`; tables end in .csv, .tsv, .json or .jsonl (or .gz after it)", path=path
        )


def _comma_separated(text: str, path: Path) -> Iterator[tuple[int, Row]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names = next(reader, [])
        for cells in reader:
            if cells:
                yield reader.line_num, _row(names, cells, path, reader.line_num)
    except csv.Error as error:
        raise InvalidBenchmark(f"is no table: {error}", path=path, line=reader.line_num) from error


def _tab_separated(text: str, path: Path) -> Iterator[tuple[int, Row]]:
    """Yield rows of one line each. A cell is unquoted only if it is quoted as a whole: many such files quote partly."""
    names: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        cells = [_unquoted(cell) for cell in line.rstrip("\r").split("\t")]
        if not names:
            names = cells
        elif line.strip():
            yield number, _row(names, cells, path, number)


def _unquoted(cell: str) -> str:
    inner = cell[1:-1]
    whole = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if whole else cell


def _row(names: list[str], cells: list[str], path: Path, line: int) -> Row:
    if len(cells) != len(names):
        raise InvalidBenchmark(f"the row has {len(cells)} cells under {len(names)} column names", path=path, line=line)
    return dict(zip(names, cells, strict=True))


def _object(line: str, path: Path, number: int) -> Row:
    value = _parse(line, path, number)
    if not isinstance(value, dict):
        raise InvalidBenchmark("the line holds no object", path=path, line=number)
    return value


def _parse(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text, parse_float=_Spelled, parse_int=_Spelled)
    except (ValueError, RecursionError) as error:
        raise InvalidBenchmark(f"is not JSON: {error}", path=path, line=line) from error


class _Spelled(str):
    """A number as it is spelled in the file."""


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else dump_json(value).decode()
