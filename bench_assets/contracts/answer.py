"""What an agent said: the records of the journal and of `answers.jsonl`."""

from typing import Literal

from pydantic import Field

from bench_assets.contracts.base import JsonValue, Record

ErrorKind = Literal[
    "agent_error",
    "bad_answer",
    "timeout",
    "crash",
    "killed",
    "protocol_error",
    "import_error",
    "no_entry_point",
    "init_error",
    "ready_timeout",
]
"""Why an attempt gave no answer.

`agent_error`: the adapter raised. `bad_answer`: it returned something that is no text. `timeout`: `timeout_sec` fired.
`crash`: the worker's process ended by itself. `killed`: a signal ended it (out of memory, usually). `protocol_error`:
the worker sent what is no message. The last four are workers that never became ready.
"""


class ErrorInfo(Record):
    """Why there is no answer."""

    kind: ErrorKind
    message: str
    """One sentence or the exception's own `Type: text`; at most 2,000 characters."""
    traceback: str | None = None
    """The agent's traceback, or the last output of a worker that ended; at most the last 4,000 characters.

    None where there is none.
    """
    limit: str | None = None
    """The setting that fired, for instance `timeout_sec=300`; None where no limit did."""


class Attempt(Record):
    """One try at an execution, kept as evidence."""

    number: int
    """From 1."""
    cause: ErrorKind | Literal["answered"]
    """How it ended."""
    message: str = ""
    """The error's message; empty for an answer."""
    limit: str | None = None
    """The setting that fired; None where no limit did."""
    duration_ms: int
    """From handing the question out to the end of the attempt."""
    backoff_sec: float = 0.0
    """The pause before this attempt."""
    worker: str
    """Name of the worker's log, for instance `000-2`."""
    started_at: str
    """ISO 8601, UTC, microseconds."""


class SettledExecution(Record):
    """One execution that ended, answered or not: one line of a journal. Holds no golden."""

    execution_id: str
    id: str
    """The question's id."""
    repetition: int
    """From 1."""
    answer: str | None
    """The agent's text; None where there was an error."""
    error: ErrorInfo | None = None
    """None where there was an answer."""
    duration_ms: int
    """Of the last attempt."""
    attempt: int
    """How many attempts it took."""
    attempts: list[Attempt]
    started_at: str
    """Of the first attempt; ISO 8601, UTC, microseconds."""
    usage: dict[str, JsonValue] | None = None
    """What the adapter reported of tokens or money; None where it reported nothing."""
    meta: dict[str, JsonValue] | None = None
    """Whatever else the adapter reported; None where it reported nothing."""
    trajectory: JsonValue = None
    """The steps that led to the answer, as the adapter reported them; None where it reported none."""
    reused_from: str | None = None
    """The run_id that this answer was first given in; None where it was this run."""


class AnswerRecord(SettledExecution):
    """One line of `answers.jsonl`."""

    run_id: str | None = None
    """The run it belongs to; None in records that were made outside a run."""
    question: str
    golden: str | list[str]


class OpenExecution(Record):
    """One execution still to be asked: what the execution layer takes."""

    execution_id: str
    id: str
    repetition: int = 1
    question: str
    attempts: list[Attempt] = Field(default_factory=list)
    """Earlier attempts at it, which ended in an error and are kept."""
