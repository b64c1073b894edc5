"""A real `dagster dev` in a copy of the repository: web server, daemon and code server, as a person has them."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError

from tests.services.free_ports import free_ports

START_TIMEOUT_SEC = 180
STOP_TIMEOUT_SEC = 40


@contextmanager
def dagster_dev(folder: Path, *, environment: dict[str, str]) -> Iterator[str]:
    """Run `dagster dev` in `folder` with its own `dagster_home/`. Yields the address of its pages."""
    (port,) = free_ports(1)
    log = folder / "dagster_dev.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "dagster", "dev", "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=environment | {"DAGSTER_HOME": str(folder / "dagster_home")},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_it_serves(process, f"{address}/server_info", log)
        yield address
    finally:
        _stop(process)


def _wait_until_it_serves(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + START_TIMEOUT_SEC
    while True:
        with suppress(URLError, OSError), urllib.request.urlopen(url, timeout=5):
            return
        if process.poll() is not None or time.monotonic() > end:
            said = log.read_text(encoding="utf-8", errors="replace")[-3000:]
            raise RuntimeError(f"`dagster dev` serves no pages after {START_TIMEOUT_SEC} s. It said:\n{said}")
        time.sleep(0.25)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole session: its servers would outlive `dagster dev` for their heartbeat's time."""
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=STOP_TIMEOUT_SEC)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=STOP_TIMEOUT_SEC)
