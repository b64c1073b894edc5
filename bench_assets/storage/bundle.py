"""The finished files of a run: `runs/<run_id>/` in a store.

`run.json` is written last and taken away first, so a folder without it is an unfinished one. A finished run is never
changed: writing it again does nothing, and anything else under its run_id is refused. A run that left executions open
(errors, missing ones, answers without a verdict) may be replaced by its own continuation.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

from bench_assets.contracts.base import digest
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.errors import InvalidInput, ObjectMissing, RunConflict, StorageFailed
from bench_assets.storage.keys import PIECE, check_key, split_lines
from bench_assets.storage.local import LocalStore
from bench_assets.storage.objects import ObjectStore
from bench_assets.storage.payload import VOLATILE_SCORE_FIELDS, Stored, is_open, run_payload, summary_payload

RUN = "run.json"

OPINIONS = frozenset({"comparison.json", "gate.json", "report.html"})
"""Files that look at the run from outside, often beside another one. They may come later, and anew."""

IN_MEMORY = 1 << 20
"""Bytes of a file that are kept in memory before they go to a temporary one."""


class RunBundle:
    """The folder of one run in a store."""

    def __init__(self, store: ObjectStore, run_id: str, *, folder: str = "runs") -> None:
        """`folder` is what comes before the run_id; empty where the store holds nothing but runs.

        Raises:
            InvalidInput: when `run_id` cannot name a folder.
        """
        if "/" in check_key(run_id):
            raise InvalidInput(f"`{run_id}` cannot be a run_id: it holds `/`.")
        self.store = store
        self.run_id = run_id
        self._base = f"{folder}/{run_id}/" if folder else f"{run_id}/"

    @property
    def url(self) -> str:
        """Where the folder is, as a person would paste it."""
        return self.store.url(self._base.rstrip("/"))

    def key(self, name: str) -> str:
        """Return the key of the file `name`."""
        return check_key(self._base + name)

    def names(self) -> list[str]:
        """Return the names of the files that are there, sorted; of an unfinished bundle too."""
        return [key.removeprefix(self._base) for key in self.store.list(self._base)]

    def run(self) -> RunRecord | None:
        """Return what `run.json` says; None when the bundle is not there or not finished. Raises InvalidInput."""
        try:
            data = self.store.read(self.key(RUN))
        except ObjectMissing:
            return None
        return RunRecord.from_json(_json(data, self.store.url(self.key(RUN))), source=self.store.url(self.key(RUN)))

    def summary(self) -> Summary | None:
        """Return what `summary.json` says; None when there is none. Raises InvalidInput."""
        key = self.key("summary.json")
        try:
            data = self.store.read(key)
        except ObjectMissing:
            return None
        return Summary.from_json(_json(data, self.store.url(key)), source=self.store.url(key))

    def write(self, run: RunRecord, files: Mapping[str, bytes | Iterable[bytes]]) -> Stored:
        """Store a run's files and, after them, its `run.json`.

        Args:
            run: what `run.json` will say. `dagster_run_ids`, times and versions do not tell two results apart.
            files: contents by name, without `run.json`. An iterable is read once, never held as a whole.

        Raises:
            InvalidInput: for a file name with a folder in it, or `run.json` among the files.
            RunConflict: when the run_id holds another run, or this one with another result and nothing left open.
        """
        for name in files:
            if name == RUN or "/" in check_key(name):
                raise InvalidInput(
                    f"`{name}` cannot be a file of a run: it is written by the bundle, or names a folder."
                )
        before = self.run()
        with ExitStack() as opened:
            spooled = {name: opened.enter_context(_spooled(data)) for name, data in files.items()}
            if before is not None:
                if before.plan_identity != run.plan_identity:
                    raise RunConflict(
                        f"The run_id `{self.run_id}` is taken by another run, in {self.url}: `{before.candidate}` on "
                        f"`{before.benchmark}`. Give this run another run_id, or none."
                    )
                if self._same(before, run, spooled):
                    self._write_files({name: file for name, file in spooled.items() if name in OPINIONS})
                    return "unchanged"
                summary = self.summary()
                if summary is not None and not is_open(before.status, errors=summary.errors, judged=summary.judged):
                    raise RunConflict(
                        f"The run `{self.run_id}` is finished, and its result in {self.url} is not the one to be "
                        "written. A finished run is never changed: make a new run."
                    )
            self.store.delete(self.key(RUN))
            self._write_files(spooled)
        for left in set(self.names()) - set(files):
            self.store.delete(self.key(left))
        if not self.store.create(self.key(RUN), _pretty(run)):
            other = self.run()
            if other is not None and run_payload(other) == run_payload(run):
                return "unchanged"
            raise RunConflict(f"Another process has written the run `{self.run_id}` in {self.url} at the same time.")
        return "stored" if before is None else "continued"

    def attach(self, name: str, data: bytes | Iterable[bytes]) -> None:
        """Add or renew a file that looks at the finished run from outside: a name in `OPINIONS`.

        An iterable is read once, never held as a whole.

        Raises:
            InvalidInput: for any other name.
            StorageFailed: when the bundle is not finished.
        """
        if name not in OPINIONS:
            raise InvalidInput(f"`{name}` cannot be attached to a run; only {', '.join(sorted(OPINIONS))} can.")
        if not self.store.exists(self.key(RUN)):
            raise StorageFailed(f"There is no finished run in {self.url} to attach `{name}` to.")
        self.store.write(self.key(name), data)

    def detach(self, name: str) -> None:
        """Take away a file that `attach` added, where there is one. Raises InvalidInput as `attach`."""
        if name not in OPINIONS:
            raise InvalidInput(f"`{name}` cannot be taken from a run; only {', '.join(sorted(OPINIONS))} can.")
        self.store.delete(self.key(name))

    def copy_to(self, target: ObjectStore | Path) -> str:
        """Copy the finished files to `<target>/<run_id>/` and return where that is. `run.json` comes last there too.

        Raises:
            StorageFailed: when the bundle is not finished.
            RunConflict: when another run is there under this run_id.
        """
        run = self.run()
        if run is None:
            raise StorageFailed(f"There is no finished run in {self.url} to copy.")
        copy = RunBundle(LocalStore(target) if isinstance(target, Path) else target, self.run_id, folder="")
        there = copy.run()
        if there is not None and there.plan_identity != run.plan_identity:
            raise RunConflict(
                f"{copy.url} holds another run under the same run_id: `{there.candidate}` on `{there.benchmark}`. "
                "Choose another folder."
            )
        if copy.url == self.url:
            return copy.url
        last = self.store.read(self.key(RUN))
        copy.store.delete(copy.key(RUN))
        names = [name for name in self.names() if name != RUN]
        for name in names:
            copy.store.write(copy.key(name), self.store.chunks(self.key(name)))
        for left in set(copy.names()) - set(names):
            copy.store.delete(copy.key(left))
        copy.store.write(copy.key(RUN), last)
        return copy.url

    def _same(self, before: RunRecord, run: RunRecord, files: Mapping[str, IO[bytes]]) -> bool:
        stored = set(self.names()) - OPINIONS - {RUN}
        if run_payload(before) != run_payload(run) or stored != set(files) - OPINIONS:
            return False
        return all(
            _fingerprint(name, self.store.chunks(self.key(name))) == _fingerprint(name, _from_start(files[name]))
            for name in sorted(stored)
        )

    def _write_files(self, files: Mapping[str, IO[bytes]]) -> None:
        for name, file in files.items():
            self.store.write(self.key(name), _from_start(file))


@contextmanager
def _spooled(data: bytes | Iterable[bytes]) -> Iterator[IO[bytes]]:
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        for piece in [data] if isinstance(data, bytes) else data:
            file.write(piece)
        yield file


def _from_start(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while piece := file.read(PIECE):
        yield piece


def _fingerprint(name: str, chunks: Iterable[bytes]) -> str:
    if name == "summary.json":
        return digest(summary_payload(json.loads(b"".join(chunks))))
    if name != "scores.jsonl":
        whole = sha256()
        for chunk in chunks:
            whole.update(chunk)
        return whole.hexdigest()
    lines = sha256()
    for line in split_lines(chunks):
        fields = json.loads(line)
        lines.update(digest({key: fields[key] for key in fields if key not in VOLATILE_SCORE_FIELDS}).encode())
    return lines.hexdigest()


def _json(data: bytes, source: str) -> object:
    try:
        return json.loads(data)
    except ValueError as error:
        raise InvalidInput(f"{source} is not JSON: {error}") from error


def _pretty(run: RunRecord) -> bytes:
    return json.dumps(run.to_json(), ensure_ascii=False, allow_nan=False, indent=2).encode("utf-8") + b"\n"
