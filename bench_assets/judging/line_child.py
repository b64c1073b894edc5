"""A child process that answers one line of JSON to each, within a time limit.

What a benchmark brings along (a regular expression, a function) may never end or take the process with it, and Python
cannot stop either. A child can be ended.
"""

import json
import os
import selectors
import subprocess
from collections.abc import Mapping, Sequence
from time import monotonic

from bench_assets.contracts.base import JsonValue


class NoReply(Exception):
    """Raised when the child did not answer; it is ended by then. The text says why."""


class LineChild:
    """Starts with the first request, ends with `close`, and starts anew after it had to be ended."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], seconds: float) -> None:
        """`env` is the child's whole environment; `seconds` is the time for one request, start included."""
        self._command = list(command)
        self._env = dict(env)
        self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None

    def ask(self, request: JsonValue) -> JsonValue:
        """Return the reply to `request`. Raises NoReply."""
        child = self._child = self._child or subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._env
        )
        try:
            assert child.stdin is not None
            child.stdin.write(json.dumps(request).encode("ascii") + b"\n")
            child.stdin.flush()
            return json.loads(self._line(child))
        except BrokenPipeError:
            self.close()
            raise NoReply("its process ended") from None
        except ValueError:
            self.close()
            raise NoReply("its process answered what is not JSON") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def _line(self, child: "subprocess.Popen[bytes]") -> bytes:
        assert child.stdout is not None
        deadline = monotonic() + self._seconds
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                left = deadline - monotonic()
                if left <= 0 or not selector.select(left):
                    raise NoReply(f"it took more than {self._seconds:g} s")
                part = os.read(child.stdout.fileno(), 65536)
                if not part:
                    raise NoReply("its process ended; it may have run out of memory")
                line += part
        return line
