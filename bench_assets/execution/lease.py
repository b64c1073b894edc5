"""One process a shard, over an object store."""

import contextlib
import json
import logging
import os
import secrets
import socket
import threading
import time
from typing import Any, Protocol

from bench_assets.errors import ObjectMissing, ShardBusy, StorageFailed
from bench_assets.execution.process_identity import is_gone, is_local, this_process

logger = logging.getLogger(__name__)

PERIOD = 15.0
"""Seconds a lease lives without being renewed."""


class LeaseStore(Protocol):
    """What a lease needs of a store."""

    def read(self, key: str) -> bytes:
        """Return the whole object. Raises ObjectMissing."""

    def create(self, key: str, data: bytes) -> bool:
        """Store the object only where there is none."""

    def write(self, key: str, data: bytes) -> None:
        """Store the object, in place of an older one."""

    def delete(self, key: str) -> None:
        """Remove the object."""


class Lease:
    """An object that says who works on a shard, renewed by a thread while its process lives.

    Whether another's lease lives is judged by watching it change, never by comparing clocks of two machines. Where its
    process was one of this machine, and is gone, nobody waits.
    """

    def __init__(self, store: LeaseStore, *, key: str, shard: str) -> None:
        """Take the lease; wait up to `PERIOD` for one that nobody renews. Raises ShardBusy, StorageFailed."""
        self._store = store
        self._key = key
        self._shard = shard
        self._owner: dict[str, Any] = {
            "owner": secrets.token_hex(8),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "process": this_process(),
        }
        self._beat = 0
        self._lost: str | None = None
        self._ended = threading.Event()
        self._acquire()
        self._thread = threading.Thread(target=self._renew, name="journal-lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise ShardBusy when another process took the lease over."""
        if self._lost is not None:
            raise ShardBusy(
                f"{self._shard} was taken over by {self._lost} while this process did not renew its lease `{self._key}`"
                " in time. This one stops; what it had finished is kept."
            )

    def release(self) -> None:
        """Leave the shard to others. What cannot be deleted runs out by itself."""
        self._ended.set()
        self._thread.join()
        with contextlib.suppress(StorageFailed):
            if self._lost is None and self._is_ours(self._read()):
                self._store.delete(self._key)

    def _acquire(self) -> None:
        limit = time.monotonic() + PERIOD
        seen = None
        while not self._store.create(self._key, self._text()):
            found = self._read()
            if found is None:  # released a moment ago
                continue
            if is_gone(found.get("process")) or time.monotonic() >= limit:
                self._store.delete(self._key)
                continue
            if is_local(found.get("process")) or (seen is not None and found != seen):
                raise ShardBusy(
                    f"{self._shard} was to be opened, but {_named(found)} works on it (its lease is `{self._key}`). "
                    "Wait until it is done, or stop it; what it finished is kept."
                )
            seen = found
            time.sleep(0.5)

    def _renew(self) -> None:
        while not self._ended.wait(PERIOD / 4):
            try:
                found = self._read()
                if found is not None and not self._is_ours(found):
                    self._lost = _named(found)
                    return
                self._beat += 1
                self._store.write(self._key, self._text())
            except StorageFailed as error:  # the next beat may work; if none does, writing a segment does not either
                logger.warning("The lease `%s` could not be renewed: %s", self._key, error)

    def _read(self) -> dict[str, Any] | None:
        try:
            found = json.loads(self._store.read(self._key))
        except ObjectMissing:
            return None
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _is_ours(self, found: dict[str, Any] | None) -> bool:
        return found is not None and found.get("owner") == self._owner["owner"]

    def _text(self) -> bytes:
        return json.dumps({**self._owner, "beat": self._beat}).encode("utf-8")


def _named(found: dict[str, Any]) -> str:
    return f"process `{found.get('pid')}` on `{found.get('host')}`"
