"""A real Postgres in a folder, started when it is needed and stopped when its last user leaves.

Files in the folder::

    data/         the cluster
    password      of its only user, readable by its owner alone
    port          the port it had last, so that it is the same one after a restart
    server.log    what the server says
    lock          held while somebody starts, stops or joins the server
    users         shared by every process of ours that uses the server
    server.lock   inherited by the server and all its children

Liveness is a question of locks and not of process numbers. `server.lock` can be taken exactly when no process of the
server lives any more: no `postmaster.pid` of a killed server misleads us, even when its number is another process's
by now. The kernel gives all three locks back however their holder ends.
"""

import fcntl
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

from bench_assets.errors import StorageFailed
from bench_assets.storage.postgres import programs

START_TIMEOUT_SEC = 120
"""For a server that starts, recovers from a crash, or is ending."""

STOP_TIMEOUT_SEC = 60
"""For a server to end its sessions, write its checkpoint and go."""

USER = "bench"
DATABASE = "postgres"


class EmbeddedPostgres:
    """The Postgres in one folder. Any number of processes may use it at once.

    ::

        postgres = EmbeddedPostgres(root)
        with postgres.joining() as url:   # started if need be; stays up for us from here on
            connection = connect(url)
        …
        postgres.leave(others=…)          # stops it when nobody else is there

    One object is one user; it is not for several threads at once.
    """

    def __init__(self, root: Path | str, *, durable: bool = True) -> None:
        """`durable=False` gives up safety against a power cut for speed: for tests. Nothing is touched yet."""
        self.root = Path(root).expanduser().resolve()
        self.durable = durable
        self._membership: IO[bytes] | None = None

    @property
    def data(self) -> Path:
        """The cluster's own folder."""
        return self.root / "data"

    @property
    def url(self) -> str:
        """`postgresql://…` with the password. Read it only while the server runs."""
        password = quote((self.root / "password").read_text(encoding="utf-8"), safe="")
        return f"postgresql://{USER}:{password}@127.0.0.1:{self._pid_lines()[3]}/{DATABASE}"

    @property
    def is_joined(self) -> bool:
        """Whether we are one of the server's users."""
        return self._membership is not None

    @contextmanager
    def joining(self) -> Iterator[str]:
        """Start the server if need be, become one of its users, and yield its URL.

        Until the block ends nobody else can stop the server, and afterwards nobody of ours will, until `leave`.

        Raises:
            StorageFailed: when no Postgres can be started here, or not within `START_TIMEOUT_SEC`.
        """
        with self._lock():
            self._start()
            if self._membership is None:
                self._membership = self._open("users")
                fcntl.flock(self._membership, fcntl.LOCK_SH)
            yield self.url

    def leave(self) -> bool:
        """Stop being a user. Returns whether the server is left to us: nobody of ours uses it any more.

        Call it, and `stop` after it, inside `exclusively`.
        """
        if self._membership is not None:
            self._membership.close()
            self._membership = None
        with self._open("users") as users:
            return _taken(users, fcntl.LOCK_EX)

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        """Keep everybody else of ours from starting, joining and stopping the server."""
        with self._lock():
            yield

    def stop(self) -> None:
        """Stop the server if it runs: sessions end, everything committed is kept.

        Raises:
            StorageFailed: when it has not gone within `STOP_TIMEOUT_SEC`.
        """
        with self._open("server.lock") as server:
            if _taken(server, fcntl.LOCK_EX):
                return
            programs.stop(self.data)
            if not _wait(server, seconds=STOP_TIMEOUT_SEC):
                raise StorageFailed(f"The Postgres in `{self.root}` has not ended within {STOP_TIMEOUT_SEC} s.")

    def _start(self) -> None:
        with self._open("server.lock") as server:
            end = time.monotonic() + START_TIMEOUT_SEC
            while not _taken(server, fcntl.LOCK_EX):  # running, starting, recovering, or dying this instant
                if self._ready():
                    return
                if time.monotonic() > end:
                    raise StorageFailed(
                        f"Processes of the Postgres in `{self.root}` live on, but it has not taken connections for "
                        f"{START_TIMEOUT_SEC} s. {programs.last_words(self.root)}"
                    )
                time.sleep(0.05)
            if programs.works_in(self._pid(), self.data):
                return  # started by hand, without our lock
            programs.make_cluster(self.root, user=USER, durable=self.durable)
            (self.data / "postmaster.pid").unlink(missing_ok=True)  # stale; its number may be another process's by now
            port = _free_port(self.root / "port")
            programs.start(self.root, port=port, durable=self.durable, held=server, timeout=START_TIMEOUT_SEC)

    def _ready(self) -> bool:
        lines = self._pid_lines()
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        try:
            socket.create_connection(("127.0.0.1", int(lines[3])), 1).close()
        except OSError:
            return False
        return True

    def _pid(self) -> int | None:
        lines = self._pid_lines()
        return int(lines[0]) if lines and lines[0].strip().isdigit() else None

    def _pid_lines(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    @contextmanager
    def _lock(self) -> Iterator[None]:
        limit = START_TIMEOUT_SEC + STOP_TIMEOUT_SEC
        with self._open("lock") as lock:
            if not _wait(lock, seconds=limit):
                raise StorageFailed(
                    f"Another process has been starting or stopping the Postgres in `{self.root}` for {limit} s."
                )
            yield

    def _open(self, name: str) -> IO[bytes]:
        try:
            self.root.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(exist_ok=True, mode=0o700)
            return (self.root / name).open("ab")
        except OSError as error:
            raise StorageFailed(f"Cannot keep a Postgres in `{self.root}`: {error.strerror}.") from error


def _taken(file: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(file: IO[bytes], *, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not _taken(file, fcntl.LOCK_EX):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _free_port(remembered: Path) -> int:
    """Return the remembered port when it is free, or another one, and remember it."""
    text = remembered.read_text(encoding="utf-8") if remembered.exists() else ""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(text) if text.isdigit() else 0))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    remembered.write_text(str(port), encoding="utf-8")
    return port
