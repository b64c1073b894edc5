"""One process a shard, on one machine."""

import contextlib
import fcntl
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from bench_assets.errors import ShardBusy, StorageFailed


class ShardLock:
    """A lock that ends with its process, however that ends. Its file stays and says who had it last."""

    def __init__(self, path: Path, *, shard: str) -> None:
        """Take the lock. Raises ShardBusy when another process (or this one, once more) has it."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageFailed(f"The lock `{path}` could not be opened: {error.strerror}.") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = _owner(os.pread(self._file, 4096, 0))
            os.close(self._file)
            if not isinstance(error, BlockingIOError):
                raise StorageFailed(f"The lock `{path}` could not be taken: {error.strerror}.") from error
            raise ShardBusy(
                f"{shard} was to be opened, but {owner} works on it (its lock is `{path}`). Wait until it is done, or "
                "stop it; what it finished is kept."
            ) from error
        # Only for the message above: a lock that cannot be described is still a lock.
        with contextlib.suppress(OSError):
            since = datetime.now(UTC).isoformat(timespec="seconds")
            text = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, text.encode("utf-8"), 0)

    def release(self) -> None:
        """Leave the shard to others."""
        os.close(self._file)


def _owner(content: bytes) -> str:
    try:
        found = json.loads(content)
        return f"process `{found['pid']}` on `{found['host']}` (since {found['since']})"
    except (ValueError, KeyError, TypeError):
        return "another process"
