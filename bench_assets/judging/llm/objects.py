"""Finds the objects in a judge's reply without ever looking inside a text for one.

A judge quotes what it judges. Whoever searches for the first `{` that happens to parse, finds objects inside quoted
texts, and lets an answer write its own verdict. So the reply is read from the left, each structure is taken or refused
as a whole, and one that is broken ends the reading: what follows may be its inside.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench_assets.contracts.base import JsonValue

# Braces and brackets in prose and formulas (`{a, b}`, `[1]`) are no structure; one with a quote behind it is.
_START = re.compile(r"""\{(?=\s*["'}])|\[(?=\s*[{"'])""")
_TOKEN = re.compile(
    r"""\s+ | [{}\[\]():,] | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
      | [-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w) | (?:True|False|None)(?!\w)""",
    re.VERBOSE | re.DOTALL,
)
# Python warns about escapes that it does not know and about octal ones; as text they are harmless.
_ESCAPE = re.compile(r"""\\\\|\\(?![\\'"abfnrtvxuUN])""")

_DECODER = json.JSONDecoder(strict=False)  # a raw line feed inside a text is a slip that leaves no doubt


@dataclass(frozen=True)
class Found:
    """One structure in a reply."""

    value: JsonValue
    repeated: dict[str, list[JsonValue]]
    """Keys that stand more than once in the outermost object, with all their values."""
    start: int
    end: int


@dataclass(frozen=True)
class Broken:
    """A structure that begins and cannot be read. Nothing behind it is looked at."""

    start: int
    unfinished: bool
    """True when the reply ends inside it."""


def structures(text: str) -> Iterator[Found | Broken]:
    """Yield the outermost JSON or Python structures in `text`, from the left; a broken one is the last."""
    position = 0
    while match := _START.search(text, position):
        found = structure_at(text, match.start())
        yield found
        if isinstance(found, Broken):
            return
        position = found.end


def structure_at(text: str, start: int) -> Found | Broken:
    """Read the structure that begins at `start`: as JSON, else as a literal of Python."""
    pairs: list[tuple[str, JsonValue]] = []

    def outermost(items: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        pairs[:] = items  # called for inner objects first, so the outermost one is what stays
        return dict(items)

    try:
        value, end = json.JSONDecoder(strict=False, object_pairs_hook=outermost).raw_decode(text, start)
    except RecursionError:
        return Broken(start=start, unfinished=False)
    except ValueError as error:
        return _python_literal(text, start) or Broken(start=start, unfinished=_ends_inside(text, error))
    return Found(value=value, repeated=_repeated(pairs) if isinstance(value, dict) else {}, start=start, end=end)


def whole_json(text: str) -> tuple[bool, JsonValue]:
    """Return (True, value) when all of `text` is one JSON value, else (False, None)."""
    try:
        return True, _DECODER.decode(text)
    except (ValueError, RecursionError):
        return False, None


def _python_literal(text: str, start: int) -> Found | None:
    end = _literal_end(text, start)
    if end is None:
        return None
    source = _ESCAPE.sub(r"\\\\", text[start:end])
    try:
        tree = ast.parse(source, mode="eval").body
        value = ast.literal_eval(tree)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    pairs: list[tuple[str, JsonValue]] = []
    if isinstance(tree, ast.Dict):
        for key, item in zip(tree.keys, tree.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                pairs.append((key.value, ast.literal_eval(item)))
    return Found(value=value, repeated=_repeated(pairs), start=start, end=end)


def _literal_end(text: str, start: int) -> int | None:
    """Return where the brackets that open at `start` are closed; None when something no literal holds comes first."""
    depth = 0
    position = start
    while match := _TOKEN.match(text, position):
        position = match.end()
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return position
    return None


def _repeated(pairs: list[tuple[str, JsonValue]]) -> dict[str, list[JsonValue]]:
    values: dict[str, list[JsonValue]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return {key: items for key, items in values.items() if len(items) > 1}


def _ends_inside(text: str, error: ValueError) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or not text[error.pos :].strip(" \t\r\n`")
