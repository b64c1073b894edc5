"""Verdicts kept in the results' store, for every run and candidate."""

import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime

from bench_assets.closing import Closing
from bench_assets.contracts.score import Verdict
from bench_assets.errors import StorageFailed
from bench_assets.judging.kept.lines import KeptLine, write_line
from bench_assets.judging.kept.segments import ObjectStore, Segments

logger = logging.getLogger(__name__)

SMALL = 4 << 20
"""Bytes. Segments below it are merged; rewriting larger ones costs more than reading them one by one."""

MANY = 8
"""Small segments that may stay when the store is closed."""

MOST = 256
"""Small segments after which they are merged while work goes on, so that a kill leaves no thousands behind."""


GATHER = 0.05
"""Seconds that a first verdict waits for others to go out with. On S3 it makes few requests of many."""


@dataclass
class _Judge:
    """The verdicts of one judge."""

    segments: Segments
    lines: dict[str, KeptLine]


@dataclass(frozen=True)
class _Waiting:
    judge: str
    line: KeptLine
    kept: "Future[None]"


class StoredVerdicts(Closing):
    """Keeps verdicts in a folder or on S3; a context manager.

    A judge's verdicts are read once, when the first one is asked for: one listing and one request a segment. What is
    put goes out with everything else that waits, one object a group, a moment after the first; while one is on its way
    the next group gathers. A kill loses at most the replies of that moment, and nothing that was told. What other
    processes judge meanwhile is seen when the store is opened anew.
    """

    def __init__(self, store: ObjectStore) -> None:
        """Touch nothing yet."""
        self._store = store
        self._judges: dict[str, _Judge] = {}
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []
        self._some = threading.Condition()
        self._closed = False
        self._writer: threading.Thread | None = None

    def get(self, key: str) -> Verdict | None:
        """Return the verdict under `key`; None where there is none. Raises StorageFailed when nothing can be read."""
        name, _, content = key.partition("/")
        line = self._judge(name).lines.get(content)
        return None if line is None else line.verdict()

    def put(self, key: str, verdict: Verdict) -> "Future[None]":
        """Take `verdict` on. The result is there when it is durable, or a StorageFailed when it could not be kept."""
        name, _, content = key.partition("/")
        self._judge(name)
        line = write_line(content, verdict, at=datetime.now(UTC).isoformat(timespec="microseconds"))
        kept: Future[None] = Future()
        kept.set_running_or_notify_cancel()  # who stops waiting for it does not stop it from being kept
        with self._some:
            if self._closed:
                kept.set_exception(StorageFailed("The store of verdicts is closed. Judge again."))
                return kept
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="bench-assets-verdicts", daemon=True)
                self._writer.start()
            self._waiting.append(_Waiting(name, line, kept))
            self._some.notify()
        return kept

    def close(self) -> None:
        """Keep what is still waiting, then merge small segments. May be called twice."""
        with self._some:
            self._closed = True
            self._some.notify()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.join()  # each of its writes has the store's own time limits
        for judge in self._judges.values():
            _merge(judge, above=MANY)

    def _judge(self, name: str) -> _Judge:
        judge = self._judges.get(name)
        if judge is None:
            with self._lock:
                judge = self._judges.get(name)
                if judge is None:
                    segments = Segments(self._store, judge=name)
                    judge = self._judges[name] = _Judge(segments=segments, lines=segments.read())
        return judge

    def _write(self) -> None:
        while True:
            with self._some:
                self._some.wait_for(lambda: self._waiting or self._closed)
                self._some.wait_for(lambda: self._closed, timeout=GATHER)
                group, self._waiting = self._waiting, []
            if not group:
                return
            for name in dict.fromkeys(waiting.judge for waiting in group):
                self._write_group(self._judges[name], [waiting for waiting in group if waiting.judge == name])

    def _write_group(self, judge: _Judge, group: list[_Waiting]) -> None:
        try:
            judge.segments.write(waiting.line for waiting in group)
        except BaseException as error:
            for waiting in group:
                waiting.kept.set_exception(error)
            return
        for waiting in group:
            judge.lines.setdefault(waiting.line.key, waiting.line)
            waiting.kept.set_result(None)
        _merge(judge, above=MOST)


def _merge(judge: _Judge, *, above: int) -> None:
    small = sorted(key for key, size in judge.segments.sizes.items() if size < SMALL)
    if len(small) <= above:
        return
    try:
        judge.segments.merge(small)
    except StorageFailed as error:  # every verdict is kept all the same
        logger.warning("The kept verdicts could not be merged into fewer objects: %s", error)
