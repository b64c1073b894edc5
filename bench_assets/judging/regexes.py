"""Regular expressions with a time limit.

Some patterns take longer than the universe lasts on some texts, and Python cannot stop a search that is under way. A
benchmark's pattern meets whatever an agent says, so the search runs in a child process that can be ended.
"""

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from time import monotonic

from bench_assets.judging import regex_child

SECONDS = 10.0
"""Time for the goldens of one question on one answer. A search that is no trap takes microseconds."""


class SearchTooLong(Exception):
    """Raised when a search did not end within its time."""


class RegexSearcher:
    """Searches in a child process, which starts with the first search and ends with `close`."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None

    def search(self, patterns: list[str], text: str, *, ignore_case: bool) -> tuple[int, str] | None:
        """Return the index of the first pattern found in `text`, and what it matched; None when none is.

        Raises SearchTooLong. All patterns must be valid.
        """
        child = self._child = self._child or self._start()
        request = json.dumps({"patterns": patterns, "text": text, "ignore_case": ignore_case}).encode("ascii") + b"\n"
        try:
            assert child.stdin is not None
            child.stdin.write(request)
            child.stdin.flush()
            reply = json.loads(self._line(child))
        except BrokenPipeError:
            self.close()
            raise SearchTooLong("the process that searches ended") from None
        except BaseException:
            self.close()
            raise
        return None if reply is None else (reply[0], reply[1])

    def close(self) -> None:
        """End the child process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _start(self) -> subprocess.Popen[bytes]:
        # -I and -S: nothing of this environment is needed, and none of it is loaded.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(regex_child.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={},
        )

    def _line(self, child: subprocess.Popen[bytes]) -> bytes:
        assert child.stdout is not None
        deadline = monotonic() + self._seconds
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                left = deadline - monotonic()
                if left <= 0 or not selector.select(left):
                    raise SearchTooLong(f"the search took more than {self._seconds:g} s")
                part = os.read(child.stdout.fileno(), 65536)
                if not part:
                    raise SearchTooLong("the process that searches ended; it may have run out of memory")
                line += part
        return line
