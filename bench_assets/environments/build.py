"""Making one environment with uv: a venv, one installation of everything in it, and the list of what came of it.

uv runs in the caller's working folder with the caller's variables and configuration: which indexes and mirrors are
used is theirs to say.
"""

import os
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from uv import find_uv_bin

from bench_assets.environments.child_process import Finished, run_child
from bench_assets.environments.copies import SourceCopies
from bench_assets.environments.git import git_variables
from bench_assets.environments.health import why_not_running
from bench_assets.environments.lock_text import LOCAL_LINE, freeze
from bench_assets.environments.resolve import ResolvedRequest, local_line
from bench_assets.environments.source_records import GitSource, LocalSource, RequirementSource
from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor, redact_url

BUILD_LIMIT = "build_timeout_sec"

Aside = TypeVar("Aside")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Build:
    """One build: what, where, and under which limits."""

    resolved: ResolvedRequest
    folder: Path
    """Exists and is empty; the venv becomes `folder/venv`, and stays there, since venvs cannot be moved."""
    variables: Mapping[str, str]
    deadline: float
    """On the clock of `time.monotonic`."""
    timeout_sec: float
    """What the deadline was made of, for messages."""
    on_line: Callable[[str], None] | None
    """Called with each line that uv says, redacted."""

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return python_of(self.folder)


def python_of(folder: Path) -> Path:
    """Return the interpreter of the environment in `folder`."""
    return folder / "venv" / "bin" / "python"


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A lock to build from."""

    text: str
    """What `build` returned, perhaps on another machine."""
    moved: Mapping[Path, Path]
    """For each local source of the lock: where it lay there, and where it lies here."""


def build(wanted: Build, *, lock: Lock | None = None, refresh: bool = False) -> str:
    """Build an environment and return its lock: what `uv pip freeze` says of it, without credentials.

    Args:
        wanted: what to build.
        lock: the lock to build it from, exactly; None resolves everything together.
        refresh: ask indexes and repositories anew instead of uv's cache.

    Raises:
        EnvironmentFailed: with the end of what uv said.
        SourceChanged: a local tree is no longer what was resolved.
    """
    git_sources = [item.source for item in wanted.resolved.all if isinstance(item.source, GitSource)]
    variables = git_variables(wanted.variables, sources=git_sources)
    redact = Redactor(secret for item in wanted.resolved.all for secret in item.source.secrets)
    copies = SourceCopies(wanted.folder / "sources")
    on_line = wanted.on_line

    def uv(*arguments: str, stdin: str = "", doing: str) -> Finished:
        result = run_child(
            [find_uv_bin(), *arguments, "--color=never"],
            variables=variables,
            timeout_sec=max(0.0, wanted.deadline - time.monotonic()),
            limit=f"{BUILD_LIMIT} = {wanted.timeout_sec:g}",
            redact=redact,
            stdin=stdin,
            on_line=None if on_line is None else lambda line: on_line(copies.shown(line)),
        )
        if result.returncode != 0:
            raise EnvironmentFailed(
                f"The environment of `{wanted.resolved.request.candidate}` could not be built: {doing} failed "
                f"(uv ended with {result.returncode}). uv said:\n{copies.shown(result.tail)}"
            )
        return result

    def make_venv() -> None:
        interpreter = f"--python={wanted.resolved.interpreter.path}"
        uv("venv", "--quiet", "--no-project", interpreter, str(wanted.folder / "venv"), doing="making it")

    def why_not() -> str | None:
        return why_not_running(wanted.python, version=wanted.resolved.interpreter.version, variables=variables)

    try:
        places = _meanwhile(lambda: _copy_sources(wanted, copies=copies), make_venv)[0]
        lines = _lines(wanted.resolved, places=places) if lock is None else _locked_lines(lock, wanted.resolved, copies)
        options = [*(["--no-deps"] if lock is not None else []), *(["--refresh"] if refresh else [])]
        # Requirements go by standard input: arguments are public on a machine, and a URL may hold a password.
        uv(
            "pip",
            "install",
            *options,
            f"--python={wanted.python}",
            "-r",
            "-",
            stdin="\n".join(lines),
            doing="installing",
        )
        reason, frozen = _meanwhile(why_not, lambda: freeze(wanted.python, variables=variables))
    finally:
        copies.remove()
    if reason is not None:
        raise EnvironmentFailed(f"The environment of `{wanted.resolved.request.candidate}` was built, but {reason}")
    if (linked := re.search(r"^-e (.*)$", frozen, re.MULTILINE)) is not None:
        # `UV_NO_EDITABLE` sees to it that there are none; a uv that does not know it leaves links to what is gone.
        raise EnvironmentFailed(
            f"uv linked `{copies.shown(linked[1])}` into the environment instead of installing it. Install a newer uv."
        )
    return copies.lock_of(frozen)


def _meanwhile(aside: Callable[[], Aside], work: Callable[[], Result]) -> tuple[Aside, Result]:
    """Return what both give, done at once: a build mostly waits for other programs. `work` stays in this thread."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        other = pool.submit(aside)
        done = work()
        return other.result(), done


def _copy_sources(wanted: Build, *, copies: SourceCopies) -> dict[Path, Path]:
    return {
        item.source.path: copies.add(item, variables=wanted.variables)
        for item in wanted.resolved.all
        if isinstance(item.source, LocalSource)
    }


def _lines(resolved: ResolvedRequest, *, places: Mapping[Path, Path]) -> list[str]:
    return [
        local_line(item.source, url=places[item.source.path].as_uri())
        if isinstance(item.source, LocalSource)
        else item.install
        for item in resolved.all
    ]


def _locked_lines(lock: Lock, resolved: ResolvedRequest, copies: SourceCopies) -> list[str]:
    """Return the lock's lines with local paths turned to this build's copies, and private URLs whole again."""
    private = {
        redact_url(item.source.requirement.partition(" @ ")[2] or item.source.requirement): item.source.requirement
        for item in resolved.all
        if isinstance(item.source, RequirementSource) and item.source.secrets
    }
    lines: list[str] = []
    for line in lock.text.splitlines():
        name, at, url = line.partition(" @ ")
        if LOCAL_LINE.match(line):
            lines.append(f"{name} @ {_copy_of(url, lock=lock, copies=copies).as_uri()}")
        elif at and url in private:
            whole = private[url]
            lines.append(whole if " @ " in whole else f"{name} @ {whole}")
        else:
            lines.append(line)
    return lines


def _copy_of(url: str, *, lock: Lock, copies: SourceCopies) -> Path:
    # A project's siblings are in the lock too. They lie to the project here as they lay to it there.
    there = Path(unquote(urlsplit(url).path))
    exact = lock.moved.get(there)
    for old, new in [(there, exact)] if exact is not None else lock.moved.items():
        copy = copies.place(Path(os.path.normpath(new / os.path.relpath(there, old))))
        if copy.exists():
            return copy
    raise EnvironmentFailed(f"The lock names the local package `{there}`, but none of the sources here holds it.")
