"""Locks between processes on one machine, or on machines that share a folder: `flock`, which dies with its holder."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench_assets.errors import EnvironmentFailed

POLL_SEC = 0.05


class Lease:
    """A shared lock on a file: while it is held, nobody gets the exclusive one. Ends with `release` or the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Let go. A second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def try_lock(path: Path, *, shared: bool) -> Lease | None:
    """Take a lock at once; None when another holder is in the way or the file's folder is gone.

    Two locks of one process count like those of two processes. Raises EnvironmentFailed where files cannot be locked.
    """
    try:
        descriptor = _open(path, read_only_will_do=shared)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EnvironmentFailed(
            f"`{path}` cannot be opened for locking: {error.strerror}. Set `BENCH_CACHE_DIR` to a folder that can be "
            "written."
        ) from error
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise EnvironmentFailed(
            f"The file system of `{path}` does not lock files ({error.strerror}). Set `BENCH_CACHE_DIR` to another one."
        ) from error
    return Lease(descriptor)


def _open(path: Path, *, read_only_will_do: bool) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        # A cache that came with an image, or belongs to another user, can be used without being written.
        if read_only_will_do and error.errno in {errno.EACCES, errno.EROFS, errno.EPERM}:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        raise


@contextlib.contextmanager
def exclusive(path: Path, *, timeout_sec: float, limit: str, what: str, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the exclusive lock at `path` for the block. The file stays: removing a lock file lets two holders in.

    Args:
        path: the lock's file.
        timeout_sec: how long to wait for another holder.
        limit: the limit's name, for the error.
        what: what is waited for, for the error: `the environment of kg@v1`.
        on_wait: called once when someone else holds the lock.

    Raises:
        EnvironmentFailed: the time is over.
    """
    deadline = time.monotonic() + timeout_sec
    waited = False
    while (lease := try_lock(path, shared=False)) is None:
        if not waited:
            on_wait()
            waited = True
        if time.monotonic() >= deadline:
            raise EnvironmentFailed(
                f"Another process has been building {what} for {timeout_sec:g} s, which is `{limit}`. "
                f"Wait for it, or end the process that holds `{path}`."
            )
        time.sleep(POLL_SEC)
    try:
        yield
    finally:
        lease.release()
