"""From what `run` returned or raised to a line of the protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bench_worker.channel import LARGEST_MESSAGE, encode
from bench_worker.loading import sentence_of, traceback_of

_DEEPEST = 100  # levels; JSON readers give up somewhere behind that
_LONGEST_INT = 4000  # bits; Python refuses to write or read numbers of more than 4,300 digits


class BadAnswer(Exception):
    """Raised when what `run` returned is no answer."""


def result_line(request: int, value: Any, *, duration: float) -> bytes:
    """Return the `result` of what `run` returned, or the `error` that says why it is none."""
    try:
        message = {"type": "result", "request": request, **_fields(value), "duration": duration}
        try:
            line = encode(message)
        except (ValueError, TypeError):
            line = encode(plain_json(message))
        if len(line) > LARGEST_MESSAGE:
            raise BadAnswer(f"`run` returned {len(line)} bytes; {LARGEST_MESSAGE} is the most that can be kept")
    except BadAnswer as error:
        return _error_line(request, kind="bad_answer", message=str(error), trace=None, duration=duration)
    return line


def failure_line(request: int, error: BaseException, *, duration: float, kind: str = "agent_error") -> bytes:
    """Return the `error` of what `run` raised."""
    return _error_line(request, kind=kind, message=sentence_of(error), trace=traceback_of(error), duration=duration)


def _error_line(request: int, *, kind: str, message: str, trace: str | None, duration: float) -> bytes:
    fields = {"type": "error", "request": request, "kind": kind, "message": message, "traceback": trace}
    return encode(plain_json({**fields, "duration": duration}))


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"answer": value, "usage": None, "meta": None, "trajectory": None}
    if not isinstance(value, Mapping):
        raise BadAnswer(f"`run` must return text or a mapping with `answer`, not {_kind(value)}")
    if not isinstance(value.get("answer"), str):
        raise BadAnswer(f"`run` returned a mapping whose `answer` is {_kind(value.get('answer'))}, not text")
    for name in ("usage", "meta"):
        if not isinstance(value.get(name), (Mapping, type(None))):
            raise BadAnswer(f"`run` returned a mapping whose `{name}` is {_kind(value[name])}, not a mapping")
    # Keys that mean nothing to us were worth something to the adapter: they are kept in `meta`.
    known = ("answer", "usage", "meta", "trajectory")
    others = {key: item for key, item in value.items() if key not in known}
    meta = {**others, **(value.get("meta") or {})} if others else value.get("meta")
    return {
        "answer": value["answer"],
        "usage": plain_json(value.get("usage")),
        "meta": plain_json(meta),
        "trajectory": plain_json(value.get("trajectory")),
    }


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def plain_json(value: Any, *, depth: int = 0) -> Any:  # noqa: PLR0911 one return a kind of value
    """Return `value` as what strict JSON can hold.

    NaN and infinities become None, lone surrogates U+FFFD; tuples and sets become lists; bytes, other objects, and
    whatever lies deeper than 100 levels become their `repr`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _LONGEST_INT else hex(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {_clean_text(_key(key)): plain_json(item, depth=depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [plain_json(item, depth=depth + 1) for item in value]
    return _clean_text(_shown(value))


def _key(key: Any) -> str:
    return key if isinstance(key, str) else _shown(key)


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


def _clean_text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return str(text)
