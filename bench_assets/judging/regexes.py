"""Regular expressions with a time limit: some take longer than the universe lasts on some texts."""

import sys
from pathlib import Path

from bench_assets.judging import regex_child
from bench_assets.judging.line_child import LineChild, NoReply

SECONDS = 10.0
"""Time for the goldens of one question on one answer. A search that is no trap takes microseconds."""


class SearchTooLong(Exception):
    """Raised when a search did not end within its time."""


class RegexSearcher:
    """Searches in a child process, which starts with the first search and ends with `close`."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        # -I and -S: nothing of this environment is needed, and none of it is loaded.
        command = [sys.executable, "-I", "-S", str(Path(regex_child.__file__))]
        self._child = LineChild(command, env={}, seconds=seconds)

    def search(self, patterns: list[str], text: str, *, ignore_case: bool) -> tuple[int, str] | None:
        """Return the index of the first pattern found in `text`, and what it matched; None when none is.

        Raises SearchTooLong. All patterns must be valid.
        """
        try:
            reply = self._child.ask({"patterns": patterns, "text": text, "ignore_case": ignore_case})
        except NoReply as error:
            raise SearchTooLong(str(error)) from None
        return None if reply is None else (reply[0], reply[1])

    def close(self) -> None:
        """End the child process."""
        self._child.close()
