"""Verdicts that are kept: an unchanged answer is never paid for twice, and cannot flip between two runs."""

from concurrent.futures import Future
from threading import Lock
from typing import Protocol

from bench_assets.contracts.score import Verdict


class VerdictStore(Protocol):
    """Keeps verdicts by content: a key is `bench_assets.judging.identity.verdict_key`.

    Both methods are called from several threads at once. Only verdicts with a label are put.
    """

    def get(self, key: str) -> Verdict | None:
        """Return the verdict under `key`, without waiting for anything slow; None where there is none."""

    def put(self, key: str, verdict: Verdict) -> "Future[None]":
        """Take `verdict` on, without waiting. The result is there when it is kept for good.

        The result is a StorageFailed when it could not be kept.
        """


class MemoryVerdicts:
    """Keeps verdicts for as long as the process lives."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Verdict] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._verdicts)

    def get(self, key: str) -> Verdict | None:
        """Return the verdict under `key`; None where there is none."""
        with self._lock:
            return self._verdicts.get(key)

    def put(self, key: str, verdict: Verdict) -> "Future[None]":
        """Keep `verdict`."""
        with self._lock:
            self._verdicts[key] = verdict
        kept: Future[None] = Future()
        kept.set_result(None)
        return kept
