"""The lines of a journal, written and read."""

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from bench_assets.contracts.answer import ErrorKind, SettledExecution
from bench_assets.contracts.base import dump_json, first_fault
from bench_assets.errors import JournalDamaged

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class SettledStatus:
    """How an execution stands in a journal."""

    kind: Literal["answered", "error"]
    cause: ErrorKind | None
    """The error's kind; None for an answer."""
    attempts: int
    """Attempts so far, over all processes that worked on it."""


def header_line(*, run_id: str, shard: str) -> bytes:
    """Return the first line of a journal's file or segment."""
    return dump_json({"schema_version": SCHEMA_VERSION, "run_id": run_id, "shard": shard}) + b"\n"


def check_header(line: bytes, *, run_id: str, shard: str, where: str) -> None:
    """Raise JournalDamaged unless `line` begins a journal of this shard that this release reads."""
    try:
        header = json.loads(line.decode("utf-8"))
        version = header["schema_version"]
        found = (header["run_id"], header["shard"])
    except (ValueError, KeyError, TypeError) as error:
        raise JournalDamaged(
            f"{where}: line 1 is not the beginning of a journal. Something else wrote this file: move it away, or use "
            "another checkpoint folder."
        ) from error
    if version != SCHEMA_VERSION:
        raise JournalDamaged(
            f"{where} has schema_version `{version}`; this release of bench-assets reads {SCHEMA_VERSION}. Use the "
            "release that wrote it."
        )
    if found != (run_id, shard):
        raise JournalDamaged(
            f"{where} belongs to run `{found[0]}`, shard `{found[1]}`, but was opened for run `{run_id}`, shard "
            f"`{shard}`. Somebody moved or copied it: put it back."
        )


def read_record(line: bytes, *, where: str, number: int | None = None) -> SettledExecution:
    """Read one line back. Raises JournalDamaged, with the line's number where it is known."""
    try:
        return SettledExecution.model_validate_json(line)
    except ValidationError as error:
        what = f"line {number}" if number else "what was written there"
        raise JournalDamaged(
            f"{where}: {what} is not a settled execution ({first_fault(error)}). Something other than bench-assets "
            "changed the file. Restore it, or delete that line: its execution is then asked again."
        ) from error


def is_json(line: bytes) -> bool:
    """Return whether the line is whole JSON; a crash can leave one that is not."""
    try:
        json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return True
