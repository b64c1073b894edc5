"""The orchestrator's side of the protocol; the contract is the docstring of `bench_worker.__main__`."""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from bench_assets.contracts.answer import ErrorInfo, OpenExecution
from bench_assets.contracts.base import JsonValue, clean_json, dump_json

PROTOCOL = 1
LARGEST_MESSAGE = 64 * 1024 * 1024
"""Bytes of one line; a worker that sends more has lost its mind."""
SHUTDOWN = b'{"type":"shutdown"}\n'
CANCEL = b'{"type":"cancel","request":%d}\n'

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class ProtocolViolation(Exception):
    """Raised when a worker sent what it must not. Its text completes "the worker …"."""


@dataclass(frozen=True, kw_only=True)
class AgentIdentity:
    """Who answered: what a ready worker says of itself."""

    python: str
    """Full version of the environment's Python."""
    distribution: str | None
    """The installed distribution that the adapter came from; None where that cannot be told."""
    version: str | None
    """Its version."""
    describe: dict[str, JsonValue] | None
    """What the adapter's `describe()` said; None where it has none."""


def ask_line(
    request: int, execution: OpenExecution, *, kwargs: dict[str, JsonValue], run_id: str, attempt: int
) -> bytes:
    """Return the line that asks for an execution."""
    message = {
        "type": "ask",
        "request": request,
        "question": execution.question,
        "kwargs": kwargs,
        "context": {
            "run_id": run_id,
            "question_id": execution.id,
            "repetition": execution.repetition,
            "traceparent": trace_parent(run_id=run_id, execution_id=execution.execution_id, attempt=attempt),
        },
    }
    try:
        return _encode(message).encode("utf-8") + b"\n"
    except (ValueError, TypeError):  # lone surrogates in a question
        return dump_json(message) + b"\n"


def trace_parent(*, run_id: str, execution_id: str, attempt: int) -> str:
    """Return the W3C `traceparent` of one attempt. The same attempt always has the same, so traces can be found."""
    name = hashlib.sha256(f"{run_id}/{execution_id}/{attempt}".encode("utf-8", "replace")).hexdigest()
    return f"00-{name[:32]}-{name[32:48]}-01"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_decode = json.JSONDecoder(parse_constant=_refuse).decode


def read_message(line: bytes) -> dict[str, Any]:
    """Return a worker's message, checked. Raises ProtocolViolation."""
    try:
        message = _decode(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolViolation(f"sent a line that is no message: `{line[:200].decode('utf-8', 'replace')}`") from error
    if b"\\u" in line:  # only an escape can have made a lone surrogate
        message = clean_json(message)
    check = _CHECKS.get(message.get("type", "")) if isinstance(message, dict) else None
    if check is None:
        raise ProtocolViolation(f"sent a message of an unknown type: `{line[:200].decode('utf-8', 'replace')}`")
    try:
        fits = check(message)
    except KeyError:
        fits = False
    if not fits:
        raise ProtocolViolation(
            f"sent a `{message['type']}` that does not fit: `{line[:200].decode('utf-8', 'replace')}`"
        )
    known: dict[str, Any] = message
    return known


def _request(message: dict[str, Any]) -> bool:
    return type(message["request"]) is int and message["request"] > 0


def _duration(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def _is_result(message: dict[str, Any]) -> bool:
    return (
        _request(message)
        and isinstance(message["answer"], str)
        and isinstance(message["usage"], dict | None)
        and isinstance(message["meta"], dict | None)
        and "trajectory" in message
        and _duration(message["duration"])
    )


def _is_error(message: dict[str, Any]) -> bool:
    return (
        _request(message)
        and message["kind"] in ("agent_error", "bad_answer", "cancelled")
        and isinstance(message["message"], str)
        and isinstance(message["traceback"], str | None)
        and _duration(message["duration"])
    )


def _is_ready(message: dict[str, Any]) -> bool:
    agent = message["agent"]
    return (
        isinstance(message["protocol"], int)
        and isinstance(message["python"], str)
        and isinstance(message["concurrent"], bool)
        and isinstance(agent, dict)
        and isinstance(agent["distribution"], str | None)
        and isinstance(agent["version"], str | None)
        and isinstance(agent["describe"], dict | None)
    )


def _is_start_failure(message: dict[str, Any]) -> bool:
    return (
        message["kind"] in ("import_error", "no_entry_point", "init_error")
        and isinstance(message["message"], str)
        and isinstance(message["traceback"], str | None)
    )


_CHECKS = {"result": _is_result, "error": _is_error, "ready": _is_ready, "start_failed": _is_start_failure}


def identity_of(ready: dict[str, Any]) -> AgentIdentity:
    """Return what a `ready` says of the agent. Raises ProtocolViolation for another protocol version."""
    if ready["protocol"] != PROTOCOL:
        raise ProtocolViolation(
            f"speaks version {ready['protocol']} of the protocol, and this bench-assets speaks {PROTOCOL}: install a "
            "worker that fits"
        )
    agent = ready["agent"]
    return AgentIdentity(
        python=ready["python"], distribution=agent["distribution"], version=agent["version"], describe=agent["describe"]
    )


def redacted(error: ErrorInfo, redact: Callable[[str], str]) -> ErrorInfo:
    """Return `error` with secrets taken out of its texts."""
    trace = None if error.traceback is None else redact(error.traceback)
    return error.model_copy(update={"message": redact(error.message), "traceback": trace})


def error_of(message: dict[str, Any]) -> ErrorInfo:
    """Return what an `error` or `start_failed` says, in bounds."""
    trace = message["traceback"]
    return ErrorInfo(
        kind=message["kind"],
        message=message["message"][:2000],
        traceback=None if trace is None else trace[-4000:],
    )
