"""The `python` matcher: a function of the benchmark's own.

`function(question, golden, answer)`, called by keyword, returns True, False, one of our labels, a pair of such a value
and a reason, or None where it cannot tell. It runs in a child process with a time limit and without our variables:
what it prints, breaks or leaves hanging touches nothing, and it sees no key.
"""

import importlib.util
import os
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bench_assets.contracts.outcome import Label
from bench_assets.errors import InvalidJudge
from bench_assets.judging import function_child
from bench_assets.judging.line_child import LineChild, NoReply

SECONDS = 60.0
"""Time for one answer, and for the first one with the import."""

SHOWN_TO_IT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""Variables that the function's process gets."""


class FunctionFailed(Exception):
    """Raised when the function gave no label. The text says why."""


@dataclass(frozen=True)
class MatcherFunction:
    """A function that was found."""

    module: str
    name: str
    folder: Path
    """Looked in before what is installed."""
    digest: str
    """16 hex digits over the source of its module: another text is another matcher."""


def find_function(reference: str, *, folder: Path) -> MatcherFunction:
    """Find `module:name`, without importing it. Raises InvalidJudge when there is no such module."""
    module, _, name = reference.partition(":")
    parts = module.split(".")
    for path in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")):
        if path.is_file():
            return MatcherFunction(module, name, folder, _digest(path))
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None or not Path(found.origin).is_file():
        raise InvalidJudge(
            f"The matcher `function: {reference}` is not there: no module `{module}` in `{folder}`, and none is "
            "installed. Put the file there, or install its package beside bench-assets."
        )
    return MatcherFunction(module, name, folder, _digest(Path(found.origin)))


class FunctionCaller:
    """Calls the function in a child process, which starts with the first call and ends with `close`."""

    def __init__(self, function: MatcherFunction, *, seconds: float = SECONDS) -> None:
        script = str(Path(function_child.__file__))
        self._child = LineChild(
            [sys.executable, "-P", script, function.module, function.name, str(function.folder)],
            env={name: os.environ[name] for name in SHOWN_TO_IT if name in os.environ},
            seconds=seconds,
        )

    def call(self, *, question: str, golden: str | list[str], answer: str) -> tuple[Label, str] | None:
        """Return label and reason; None when the function cannot tell. Raises FunctionFailed."""
        try:
            reply = self._child.ask({"question": question, "golden": golden, "answer": answer})
        except NoReply as error:
            raise FunctionFailed(str(error)) from None
        if "error" in reply:
            raise FunctionFailed(reply["error"])
        found = reply["found"]
        return None if found is None else (found[0], found[1])

    def close(self) -> None:
        """End the child process."""
        self._child.close()


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:16]
