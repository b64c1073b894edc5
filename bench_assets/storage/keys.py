"""The keys of objects, and the lines in them: what every kind of store has in common."""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import IO

from bench_assets.errors import InvalidInput

LEFTOVER = ".writing-"
"""Begins the name of a file that is still being written. No key may hold it, and no listing shows it."""

PIECE = 1 << 20
"""Bytes read at once from a file or a response."""

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


def check_key(key: str) -> str:
    """Return `key` when it can name an object in any store: segments joined by `/`.

    Raises:
        InvalidInput: for an empty or absolute key, an empty segment, `.` or `..`, a control character, a backslash,
            text that UTF-8 cannot hold, or a segment that begins like a file that is still being written.
    """
    fault = _fault(key)
    if fault is not None:
        raise InvalidInput(
            f"`{_shown(key)}` cannot name an object: {fault}. A key is segments of text joined by `/`, "
            "like `runs/20260518-154501-a1b2c3d4/run.json`."
        )
    return key


def check_prefix(prefix: str) -> str:
    """Return `prefix` when it can begin a key; it is plain text, so `runs/2026` finds `runs/20260518…`.

    Raises:
        InvalidInput: as `check_key`; an empty prefix and one that ends with `/` are fine.
    """
    if prefix:
        check_key(prefix.removesuffix("/"))
    return prefix


def _fault(key: str) -> str | None:
    if not key or key.startswith("/"):
        return "it is absolute" if key else "it is empty"
    if _UNUSABLE.search(key):
        return "it holds a control character, a backslash or a lone surrogate"
    for segment in key.split("/"):
        if segment in {"", ".", ".."}:
            return f"it has the segment `{segment}`" if segment else "it has an empty segment"
        if segment.startswith(LEFTOVER):
            return f"names that begin with `{LEFTOVER}` are for files that are still being written"
    return None


def _shown(key: str) -> str:
    return (
        key[:200].encode("unicode_escape", "backslashreplace").decode("ascii") if not key.isprintable() else key[:200]
    )


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield what is left of `file`, piece by piece, and close it."""
    with closing(file):
        while piece := file.read(PIECE):
            yield piece


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield the lines of a stream without their `\n`, split on `\n` and nothing else.

    A last line without `\n` is yielded too; nothing is yielded for an empty stream or after a final `\n`.
    """
    open_line: list[bytes] = []
    for chunk in chunks:
        first, *more = chunk.split(b"\n")
        open_line.append(first)
        if more:
            yield b"".join(open_line)
            yield from more[:-1]
            open_line = [more[-1]]
    if last := b"".join(open_line):
        yield last
