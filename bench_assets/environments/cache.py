"""The cache of agent environments: build each once, find it again in milliseconds, never hand out half of one."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench_assets.closing import Closing
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.environments.build import Build, Lock, build
from bench_assets.environments.child_process import build_variables
from bench_assets.environments.copies import SourceChanged
from bench_assets.environments.interpreters import Interpreter, find_interpreter
from bench_assets.environments.lock_text import lock_difference
from bench_assets.environments.places import default_cache_root, default_worker_source
from bench_assets.environments.recording import described_for, record_of
from bench_assets.environments.request import EnvironmentRequest
from bench_assets.environments.resolve import ResolvedRequest, resolve_request
from bench_assets.environments.restore import moved_sources, resolve_recorded
from bench_assets.environments.slot import Generation, Marker, Slot
from bench_assets.environments.store import Store
from bench_assets.errors import EnvironmentFailed

__all__ = ["Built", "EnvironmentCache", "EnvironmentRequest", "default_cache_root", "default_worker_source"]

EDITS_TOLERATED = 3


@dataclass(frozen=True, kw_only=True)
class Built:
    """An environment that is ready."""

    record: EnvironmentRecord
    """Of the environment, with the request's candidate and the texts of its sources."""
    python: Path
    """Its interpreter."""
    reused: bool
    """False when this call built it."""
    seconds: float
    """How long this call took, waiting for another process included."""


class EnvironmentCache(Closing):
    """Environments under one folder. Any number of processes may use it at once.

    An environment that this object has handed out is not removed before `close`, or the end of the process.
    """

    def __init__(
        self,
        root: Path,
        *,
        build_timeout_sec: float = 1800,
        on_line: Callable[[str], None] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is created before the first build.

        Args:
            root: the cache's folder.
            build_timeout_sec: for one build, and for waiting while another process builds the same environment.
            on_line: called with each line of a build, without secrets.
            environ: the variables that uv and git run with, after those of bench-assets are taken out; None means the
                process's own at each call.
        """
        self.root = root.expanduser().absolute()
        self._timeout_sec = build_timeout_sec
        self._on_line = on_line
        self._environ = environ
        self._store = Store(self.root, timeout_sec=build_timeout_sec, say=self._say)
        self._interpreters: dict[str | None, Interpreter] = {}

    def ensure(self, request: EnvironmentRequest, *, invalidate: bool = False) -> Built:
        """Return the environment that was asked for, built if it is not there.

        The sources are resolved first, so a branch that has moved is another environment. `invalidate` builds anew
        beside the old one, which processes that run in it keep. Raises EnvironmentFailed or InvalidAgent.
        """
        started = time.monotonic()
        variables = self._variables()
        refresh = invalidate and not variables.get("UV_OFFLINE")  # uv refuses the two together
        for _ in range(EDITS_TOLERATED):
            resolved = resolve_request(
                request,
                interpreter=self._interpreter(request.python, variables=variables),
                variables=variables,
                refresh=refresh,
            )
            slot = self._store.slot(resolved.fingerprint)
            try:
                return self._find_or_build(
                    slot, resolved, invalidate=invalidate, refresh=refresh, started=started, variables=variables
                )
            except SourceChanged as changed:
                self._say(f"{changed} changed while it was copied; starting again.")
        raise EnvironmentFailed(
            f"A local source of `{request.candidate}` changed each of the {EDITS_TOLERATED} times it was copied. "
            "Start again when nothing writes into it."
        )

    def fingerprint(self, request: EnvironmentRequest) -> str:
        """Return what `ensure` would look for now: 64 hex digits. Raises EnvironmentFailed or InvalidAgent."""
        variables = self._variables()
        interpreter = self._interpreter(request.python, variables=variables)
        return resolve_request(request, interpreter=interpreter, variables=variables).fingerprint

    def open(self, record: EnvironmentRecord) -> Path | None:
        """Return the interpreter of the environment that `record` describes, lock included; None if it is not here."""
        slot = self._store.slot(record.fingerprint)
        found = self._store.usable(slot, variables=self._variables(), lock_digest=record.lock_digest)
        return found[0].python if found else None

    def restore(self, record: EnvironmentRecord, *, request: EnvironmentRequest | None = None) -> Path:
        """Return the interpreter of the environment that `record` describes, rebuilt from its lock when it is not here.

        Nothing is resolved again: the same versions and commits are installed, and the result is compared with the
        lock. Local sources must be here with the same content.

        Args:
            record: what was built once, perhaps on another machine.
            request: what it was built for, with the paths and credentials of this machine; None takes the paths that
                the record names, this installation's worker, and no credentials but git's own.

        Raises:
            EnvironmentFailed: this machine has another platform, lacks that Python or a local source, or what came out
                is not what the lock says.
        """
        if (python := self.open(record)) is not None:
            return python
        variables = self._variables()
        interpreter = self._interpreter(record.python, variables=variables)
        resolved = resolve_recorded(record, request=request, interpreter=interpreter, variables=variables)
        slot = self._store.slot(record.fingerprint)
        with self._store.building(slot, candidate=record.candidate):
            if (python := self.open(record)) is not None:
                return python
            self._say(f"Restoring the environment of `{record.candidate}` from its lock.")
            with self._store.new_generation(slot) as generation:
                lock = Lock(text=record.lock, moved=moved_sources(record, resolved))
                try:
                    found = build(self._build_of(resolved, generation, variables=variables), lock=lock)
                except SourceChanged as changed:
                    raise EnvironmentFailed(f"`{changed}` changed while it was copied. Start again.") from changed
                if (difference := lock_difference(record.lock, found)) is not None:
                    raise EnvironmentFailed(
                        f"The environment of `{record.candidate}` was rebuilt, but differs from its lock: {difference}."
                    )
                self._store.publish(slot, generation, record, current=not slot.has_current)
            return generation.python

    def close(self) -> None:
        """Let go of everything handed out: from now on it may be removed. The object can be used again."""
        self._store.close()

    def _find_or_build(
        self,
        slot: Slot,
        resolved: ResolvedRequest,
        *,
        invalidate: bool,
        refresh: bool,
        started: float,
        variables: Mapping[str, str],
    ) -> Built:
        if not invalidate and (found := self._store.usable(slot, variables=variables)) is not None:
            return _built(found, resolved, reused=True, started=started)
        candidate = resolved.request.candidate
        with self._store.building(slot, candidate=candidate):
            if not invalidate and (found := self._store.usable(slot, variables=variables)) is not None:
                return _built(found, resolved, reused=True, started=started)
            self._say(f"Building the environment of `{candidate}` with Python {resolved.interpreter.version}.")
            with self._store.new_generation(slot) as generation:
                begun = time.monotonic()
                lock = build(self._build_of(resolved, generation, variables=variables), refresh=refresh)
                record = record_of(resolved, lock=lock, seconds=time.monotonic() - begun)
                marker = self._store.publish(slot, generation, record, current=True)
            slot.sweep()
            return _built((generation, marker), resolved, reused=False, started=started)

    def _build_of(self, resolved: ResolvedRequest, generation: Generation, *, variables: Mapping[str, str]) -> Build:
        return Build(
            resolved=resolved,
            folder=generation.folder,
            variables=variables,
            deadline=time.monotonic() + self._timeout_sec,
            timeout_sec=self._timeout_sec,
            on_line=self._on_line,
        )

    def _interpreter(self, wanted: str | None, *, variables: Mapping[str, str]) -> Interpreter:
        if wanted not in self._interpreters:
            self._interpreters[wanted] = find_interpreter(wanted, variables=variables)
        return self._interpreters[wanted]

    def _variables(self) -> dict[str, str]:
        return build_variables(os.environ if self._environ is None else self._environ)

    def _say(self, line: str) -> None:
        if self._on_line is not None:
            self._on_line(line)


def _built(found: tuple[Generation, Marker], resolved: ResolvedRequest, *, reused: bool, started: float) -> Built:
    generation, marker = found
    record = described_for(resolved, built=marker.record)
    return Built(record=record, python=generation.python, reused=reused, seconds=time.monotonic() - started)
