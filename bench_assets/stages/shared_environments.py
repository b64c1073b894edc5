"""Environments that many machines use: built once under a lease, restored by the others from its lock.

::

    <root>/environments/shared/<fingerprint>.json       what was built, lock included
    <root>/environments/shared/<fingerprint>.lease      held by whoever builds it
    <root>/environments/sources/<tree>.tar.gz           a local source, by its content

Only for results on S3: those in a folder are of one machine, where the cache itself sees to it.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench_assets.contracts.base import dump_json
from bench_assets.contracts.environment import EnvironmentRecord, ResolvedSource
from bench_assets.environments.archives import pack, unpack
from bench_assets.environments.cache import Built, EnvironmentCache
from bench_assets.environments.local_project import project_digest
from bench_assets.environments.places import default_worker_source
from bench_assets.environments.request import EnvironmentRequest
from bench_assets.environments.source import parse_source
from bench_assets.environments.source_records import LocalSource, Source
from bench_assets.errors import EnvironmentFailed, ObjectMissing, ShardBusy
from bench_assets.execution.lease import Lease
from bench_assets.stages.progress import Reporter
from bench_assets.storage.objects import ObjectStore

WAIT_SEC = 1800.0
"""How long to wait while another machine builds."""
POLL_SEC = 1.0


class SharedEnvironments:
    """One machine's cache, over a store that others use too."""

    def __init__(self, cache: EnvironmentCache, store: ObjectStore, *, reporter: Reporter) -> None:
        self._cache = cache
        self._store = store
        self._reporter = reporter

    def ensure(self, request: EnvironmentRequest, *, invalidate: bool = False) -> Built:
        """Return an environment: restored if any machine has built it, else built here for all of them.

        `reused` of the result says that nothing was built anew. Raises EnvironmentFailed, InvalidAgent, StorageFailed.
        """
        started = time.monotonic()
        fingerprint = self._cache.fingerprint(request)
        if not invalidate and (record := self._built(fingerprint)) is not None:
            return self._restored(record, request, started=started)
        with self._lease(fingerprint, candidate=request.candidate, started=started):
            if not invalidate and (record := self._built(fingerprint)) is not None:
                return self._restored(record, request, started=started)
            built = self._cache.ensure(request, invalidate=invalidate)
            self._keep_sources(built.record, request)
            key, data = _key(built.record.fingerprint), dump_json(built.record.to_json())
            if invalidate:
                self._store.write(key, data)
            else:
                self._store.create(key, data)
        return built

    def restore(self, record: EnvironmentRecord, *, request: EnvironmentRequest | None) -> Path:
        """Return the interpreter of a recorded environment, restored with the sources that its builder kept.

        `request` has the paths and credentials of this machine; None where it cannot be made here. Raises
        EnvironmentFailed when the result would not be what was recorded.
        """
        if (python := self._cache.open(record)) is not None:
            return python
        with tempfile.TemporaryDirectory(prefix="bench-assets-sources-") as folder:
            return self._cache.restore(record, request=self._with_sources(record, request, folder=Path(folder)))

    def _restored(self, record: EnvironmentRecord, request: EnvironmentRequest, *, started: float) -> Built:
        python = self.restore(record, request=request)
        own = record.model_copy(update={"candidate": request.candidate})
        return Built(record=own, python=python, reused=True, seconds=time.monotonic() - started)

    def _built(self, fingerprint: str) -> EnvironmentRecord | None:
        key = _key(fingerprint)
        try:
            return EnvironmentRecord.from_json(json.loads(self._store.read(key)), source=self._store.url(key))
        except ObjectMissing:
            return None

    @contextmanager
    def _lease(self, fingerprint: str, *, candidate: str, started: float) -> Iterator[None]:
        key, what, waiting = f"{_key(fingerprint)}.lease", f"the environment of `{candidate}`", False
        while True:
            try:
                lease = Lease(self._store, key=key, shard=what)
                break
            except ShardBusy as busy:
                if time.monotonic() - started > WAIT_SEC:
                    raise EnvironmentFailed(f"Waited {WAIT_SEC:g} s for another machine: {busy}") from busy
                if not waiting:
                    self._reporter.say(f"another machine builds {what}; waiting for it")
                waiting = True
                time.sleep(POLL_SEC)
        try:
            yield
        finally:
            lease.release()

    def _keep_sources(self, record: EnvironmentRecord, request: EnvironmentRequest) -> None:
        """Store what other machines cannot get elsewhere: the trees of local sources, but not our own worker's."""
        for item, source in zip(_recorded(record), request.sources, strict=True):
            if not isinstance(source, LocalSource) or item.tree is None or source == default_worker_source():
                continue
            key = _source_key(item.tree)
            if self._store.exists(key):
                continue
            archive = pack(source.path, tree=item.tree)
            if archive is None:
                self._reporter.say(f"{source.path} has changed since it was built; other machines cannot restore it")
            else:
                self._store.create(key, archive)

    def _with_sources(
        self, record: EnvironmentRecord, request: EnvironmentRequest | None, *, folder: Path
    ) -> EnvironmentRequest | None:
        """Return the request with kept sources in place of local ones that are not here, or not the same here."""
        recorded = _recorded(record)
        kept: dict[int, Source] = {}
        for number, item in enumerate(recorded):
            given = request.sources[number] if request and len(request.sources) == len(recorded) else None
            if item.tree is None or _is_same(given, item) or not self._store.exists(_source_key(item.tree)):
                continue
            path = Path(item.requirement.partition("[")[0] if item.requirement.endswith("]") else item.requirement)
            at = unpack(self._store.read(_source_key(item.tree)), to=folder / str(number), path=path)
            extras = tuple(filter(None, item.requirement.removeprefix(str(path)).strip("[]").split(",")))
            kept[number] = LocalSource(redacted=item.text, path=at, extras=extras)
        if not kept:
            return request
        sources = [kept.get(number) or self._source(request, number, item) for number, item in enumerate(recorded)]
        own = request or EnvironmentRequest(
            candidate=record.candidate,
            source=sources[0],
            worker=sources[-1],
            entry_point=record.entry_point,
            import_path=record.import_path,
        )
        return replace(own, source=sources[0], extra_deps=tuple(sources[1:-1]), worker=sources[-1])

    @staticmethod
    def _source(request: EnvironmentRequest | None, number: int, item: ResolvedSource) -> Source:
        if request is not None:
            return request.sources[number]
        return default_worker_source() if item.kind == "local" else parse_source(item.requirement, base=Path("/"))


def _is_same(source: Source | None, item: ResolvedSource) -> bool:
    return isinstance(source, LocalSource) and source.path.exists() and project_digest(source.path) == item.tree


def _recorded(record: EnvironmentRecord) -> tuple[ResolvedSource, ...]:
    return (record.source, *record.extra_deps, record.worker)


def _key(fingerprint: str) -> str:
    return f"environments/shared/{fingerprint}.json"


def _source_key(tree: str) -> str:
    return f"environments/sources/{tree}.tar.gz"
