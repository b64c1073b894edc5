"""Running uv and git: no standard input of ours, bounded in time, nothing left behind, no secrets in their output."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor

TAIL_LINES = 40
TERMINATE_GRACE_SEC = 2.0
DRAIN_SEC = 1.0
"""How long an ended child's streams are read on when something else still holds them open."""

_OURS = re.compile(r"^(?:BENCH|BENCHER|DAGSTER)_")
_NOT_INHERITED = frozenset(
    {
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        # Set by git for its hooks: they would point every git command at the repository of the hook.
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        # These turn uv's target away from the environment that is being built.
        "UV_PYTHON",
        "UV_SYSTEM_PYTHON",
        "UV_BREAK_SYSTEM_PACKAGES",
        "UV_PROJECT_ENVIRONMENT",
        "UV_VENV_SEED",
        "UV_VENV_CLEAR",
        "UV_VENV_RELOCATABLE",
        "UV_WORKING_DIR",
        # A window or a terminal that asks for a password is a wait without end.
        "SSH_ASKPASS",
    }
)


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What a child left."""

    returncode: int
    """Negative when a signal ended it."""
    stdout: str
    """Whole, redacted."""
    tail: str
    """The last lines of standard error, redacted."""


def build_variables(parent: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for uv and git.

    The parent's, so that indexes, proxies and certificates are the user's own, without what would mix the user's
    Python or repository into it and without bench-assets' own settings. Nothing in it ever asks a person.
    """
    variables = {name: value for name, value in parent.items() if name not in _NOT_INHERITED and not _OURS.match(name)}
    variables |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GCM_INTERACTIVE": "never",
        "GIT_OPTIONAL_LOCKS": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "PIP_NO_INPUT": "1",
        "UV_NO_PROGRESS": "1",
        "UV_NO_EDITABLE": "1",  # what is built is a copy that goes away, so no link may lead to it
    }
    variables.setdefault("UV_PYTHON_DOWNLOADS", "never")
    return variables


def run_child(
    argv: Sequence[str],
    *,
    variables: Mapping[str, str],
    timeout_sec: float,
    limit: str,
    redact: Redactor,
    stdin: str = "",
    on_line: Callable[[str], None] | None = None,
) -> Finished:
    """Run a program to its end.

    Args:
        argv: the program and its arguments; no secrets, as every user of the machine can read them.
        variables: its whole environment.
        timeout_sec: when it is over, the program and its children are killed.
        limit: the limit's name, for the error: `build_timeout_sec`.
        redact: applied to everything it prints.
        stdin: all that it can read.
        on_line: called with each line of standard error, redacted, in the calling thread.

    Raises:
        EnvironmentFailed: the program does not exist, or the time is over. A non-zero exit is for the caller to judge.
    """
    deadline = time.monotonic() + timeout_sec
    try:
        child = subprocess.Popen(
            argv,
            env=dict(variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # one signal reaches its children too, and there is no terminal to ask on
        )
    except OSError as error:
        raise EnvironmentFailed(
            f"`{argv[0]}` could not be started ({error.strerror}). Install it, or put it on PATH."
        ) from error
    output: list[str] = []
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    threads = [_in_thread(_write, child.stdin, stdin), _in_thread(_read, child.stdout, output.append)]
    in_time = False
    try:
        for line in _error_lines(child, deadline=deadline):
            shown = redact(line.rstrip("\n"))
            tail.append(shown)
            if on_line is not None:
                on_line(shown)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=max(0.0, deadline - time.monotonic()))
            in_time = True
    finally:
        if not in_time:  # also after Ctrl-C, and after an error of `on_line`
            _end(child)
        for thread in threads:
            thread.join(timeout=DRAIN_SEC)
    if not in_time:
        last = "\n".join(tail)
        raise EnvironmentFailed(
            f"`{' '.join(argv[:3])} …` was ended after {timeout_sec:g} s: `{limit}` is over."
            + (f" It last said:\n{last}" if last else " It said nothing.")
        )
    return Finished(returncode=child.returncode, stdout=redact("".join(output)), tail="\n".join(tail))


def _error_lines(child: subprocess.Popen[str], *, deadline: float) -> Iterator[str]:
    """Yield lines until the stream or the time ends; a daemon that inherited the stream does not prolong it."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read(stream: IO[str]) -> None:
        _read(stream, lines.put)
        lines.put(None)

    _in_thread(read, child.stderr)
    while (left := deadline - time.monotonic()) > 0:
        ended = child.poll() is not None
        try:
            line = lines.get(timeout=min(left, DRAIN_SEC))
        except queue.Empty:
            if ended:
                return
            continue
        if line is None:
            return
        yield line


def _write(stream: IO[str], text: str) -> None:
    # A child that ends without reading is judged by its exit code, not by our broken pipe.
    with contextlib.suppress(BrokenPipeError):
        stream.write(text)
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def _read(stream: IO[str], take: Callable[[str], None]) -> None:
    with stream:
        for line in stream:
            take(line)


def _in_thread(function: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def _end(child: subprocess.Popen[str]) -> None:
    for number, grace in ((signal.SIGTERM, TERMINATE_GRACE_SEC), (signal.SIGKILL, TERMINATE_GRACE_SEC)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=grace)
    # Its own children may have outlived it by a moment; the group goes once more.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
