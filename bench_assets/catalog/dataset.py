"""Reads `dataset.jsonl`: one JSON object a line, split on line feeds only."""

import hashlib
import json
import time
from array import array
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.benchmark import Question
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidBenchmark
from bench_assets.text_numbers import TextNumbers

Refuse = Callable[[str], NoReturn]
"""Raises InvalidBenchmark for the line under way."""

GoldenFault = Callable[[str | list[str], JudgeSpec], str | None]
"""Says why a golden cannot be used with a judge; None when it can."""

BOM = b"\xef\xbb\xbf"

BUFFER = 1 << 18
"""Bytes that are read at once. With the usual 8 KB, passing over a row costs three times as much."""

SETTLED_NS = 2_000_000_000
"""Nanoseconds after its last change from which on a file's times tell its next one for sure."""


@dataclass(frozen=True)
class DatasetFacts:
    """What a whole pass over a dataset found."""

    rows: int
    digest: str
    """SHA-256 of the file's bytes."""


def check_dataset(benchmark: Benchmark, *, golden_fault: GoldenFault | None = None) -> DatasetFacts:
    """Read every row and return what was found. Raises InvalidBenchmark, with file and line, at the first bad row.

    `golden_fault` says why a golden cannot serve the judge, or None. Without it goldens are not looked into. Holds
    about 30 bytes a row.
    """
    seen, lines = TextNumbers(), array("I")
    sha = hashlib.sha256()
    for line, raw in _lines(benchmark.dataset):
        sha.update(raw)
        question = _question(benchmark, raw, line)
        if question is None:
            continue
        number, is_new = seen.add(question.id)
        if not is_new:
            raise InvalidBenchmark(
                f"the id `{question.id}` stands on line {lines[number]} and again on line {line}; "
                "give each row its own (an id that is a number counts as its text)",
                path=benchmark.dataset,
                line=line,
            )
        fault = golden_fault(question.golden, benchmark.spec.judge) if golden_fault else None
        if fault is not None:
            raise InvalidBenchmark(
                f"`{benchmark.spec.golden_key}` of `{question.id}` cannot be used: {fault}",
                path=benchmark.dataset,
                line=line,
            )
        lines.append(line)
    if not lines:
        raise InvalidBenchmark("holds no rows", path=benchmark.dataset)
    return DatasetFacts(rows=len(lines), digest=sha.hexdigest())


def read_questions(benchmark: Benchmark, *, rows: Container[int] | None = None) -> Iterator[Question]:
    """Yield the rows in the file's order. Raises InvalidBenchmark, with file and line, at a bad row.

    `rows` are the numbers of the wanted ones, from 0, blank lines not counted; the others are passed over without a
    look into them, which is ten times as fast. None wants all.
    """
    number = 0
    for line, raw in _lines(benchmark.dataset):
        if rows is not None and number not in rows and line > 1:
            number += not raw.isspace()
            continue
        question = _question(benchmark, raw, line)
        if question is not None:
            if rows is None or number in rows:
                yield question
            number += 1


def rows_with_meta(benchmark: Benchmark) -> Iterator[tuple[int, int, Question]]:
    """Yield line number, offset in bytes and question of each row that has any `meta`; others are not looked into."""
    offset = 0
    for line, raw in _lines(benchmark.dataset):
        if b'"meta"' in raw or b"\\u" in raw:  # a key may be written with escapes
            question = _question(benchmark, raw, line)
            if question is not None and question.meta:
                yield line, offset, question
        offset += len(raw)


def read_question(benchmark: Benchmark, *, offset: int, line: int) -> Question:
    """Return the row at an offset. Raises InvalidBenchmark for a bad one, ValueError where there is none."""
    with benchmark.dataset.open("rb") as file:
        file.seek(offset)
        question = _question(benchmark, file.readline(), line)
    if question is None:
        raise ValueError(f"`{benchmark.dataset}` has no row at byte {offset}")
    return question


def dataset_digest(path: Path) -> str:
    """Return the SHA-256 of a dataset's bytes; of a file that nobody touched since, the one found before."""
    status = path.stat()
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if time.time_ns() - changed < SETTLED_NS:  # two changes within one tick of the clock look like one
        return _digest(path)
    return _digest_at(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=16)
def _digest_at(path: Path, _version: tuple[int, ...]) -> str:
    return _digest(path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open(
        "rb", buffering=BUFFER
    ) as file:  # binary: split on \n only, so U+2028 inside a string splits nothing
        yield from enumerate(file, start=1)


def _question(benchmark: Benchmark, raw: bytes, line: int) -> Question | None:
    """Return the row on a line; None for a blank line."""
    return _plain_question(benchmark, raw) or _checked_question(benchmark, raw, line)


def _plain_question(benchmark: Benchmark, raw: bytes) -> Question | None:
    """Return a row in which everything is as it mostly is, quickly; None for one that is to be looked into."""
    spec = benchmark.spec
    try:
        row = _DECODER.decode(raw.decode("utf-8"))
        identity, question, golden = row["id"], row[spec.question_key], row[spec.golden_key]
        meta = row.get("meta") or {}
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return None
    texts = (identity, question, golden)
    if type(meta) is not dict or not all(type(text) is str and text and not text.isspace() for text in texts):
        return None
    return Question(id=identity, question=question, golden=golden, meta=meta)


def _checked_question(benchmark: Benchmark, raw: bytes, line: int) -> Question | None:
    """Return the row on a line, or None for a blank line. Raises InvalidBenchmark with what is wrong with it."""

    def refuse(message: str) -> NoReturn:
        raise InvalidBenchmark(message, path=benchmark.dataset, line=line)

    if line == 1:
        raw = raw.removeprefix(BOM)
    if not raw.strip():
        return None
    row = _parse(raw, refuse=refuse)
    spec = benchmark.spec
    for key in ("id", spec.question_key, spec.golden_key):
        if key not in row:
            refuse(f"the row has no `{key}`; it has {', '.join(f'`{name}`' for name in row) or 'no keys'}")
    meta = row.get("meta") or {}
    if not isinstance(meta, dict):
        refuse(f"`meta` must be an object, not {_kind(meta)}")
    question = _text(row[spec.question_key], spec.question_key, refuse=refuse)
    if not question.strip():
        refuse(f"`{spec.question_key}` is empty")
    identity = _text(row["id"], "id", refuse=refuse)
    if not identity.strip():
        refuse("`id` is empty")
    golden = _golden(row[spec.golden_key], spec.golden_key, refuse=refuse)
    if spec.judge.is_matcher and not all(text.strip() for text in ([golden] if isinstance(golden, str) else golden)):
        refuse(f"`{spec.golden_key}` is empty, and `{spec.judge.type}` would find an empty text in every answer")
    return Question(id=identity, question=question, golden=golden, meta=meta)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


def _parse(raw: bytes, *, refuse: Refuse) -> dict[str, Any]:
    try:
        row: dict[str, Any] = _DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        refuse("the line is not UTF-8 text; it may be torn")
    except (ValueError, RecursionError) as error:
        torn = "" if raw.endswith(b"\n") else " (the file's last line has no line end; it may be torn)"
        refuse(f"the line is not JSON: {error}{torn}")
    if not isinstance(row, dict):
        refuse(f"the line must hold an object with `id`, question and golden, not {_kind(row)}")
    return row


def _golden(value: Any, key: str, *, refuse: Refuse) -> str | list[str]:
    if not isinstance(value, list):
        return _text(value, key, refuse=refuse)
    if not value:
        refuse(f"`{key}` is an empty list; it must hold at least one reference answer")
    return [_text(item, key, refuse=refuse) for item in value]


def _text(value: Any, key: str, *, refuse: Refuse) -> str:
    """Return text as it is and an integer as its digits; nothing else has one sure spelling."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return refuse(f"`{key}` must be text, not {_kind(value)}; put it in quotes")


def _kind(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "an object")
