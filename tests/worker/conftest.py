"""A worker process, spoken to line by line the way bench-assets does."""

import json
import os
import select
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

WORKER_SOURCE = Path(__file__).parents[2] / "worker" / "src"
WAIT_SEC = 30


class TalkingWorker:
    """One worker; `say` and `hear` are its protocol."""

    def __init__(self, arguments: list[str], *, folder: Path, python: str = sys.executable) -> None:
        self.stderr = folder / f"stderr-{time.monotonic_ns()}"
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        with self.stderr.open("wb") as log:
            self.process = subprocess.Popen(
                [python, "-u", "-m", "bench_worker", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                cwd=scratch,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{WORKER_SOURCE}:{folder}", "TEST_FOLDER": str(folder)},
                start_new_session=True,
            )
        self._rest = b""
        self._asked = 0

    def say(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def hear(self, *, within: float = WAIT_SEC) -> dict[str, Any] | None:
        """Return the next message, read strictly; None at the end of the protocol."""
        limit = time.monotonic() + within
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], limit - time.monotonic())[0], "the worker said nothing"
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            if not chunk:
                return None
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line.decode("utf-8"), parse_constant=pytest.fail)

    def send(self, question: str, **kwargs: Any) -> int:
        self._asked += 1
        context = {"run_id": "r", "question_id": question, "repetition": 1, "traceparent": "00-1-2-01"}
        self.say({"type": "ask", "request": self._asked, "question": question, "kwargs": kwargs, "context": context})
        return self._asked

    def ask(self, question: str, **kwargs: Any) -> dict[str, Any]:
        request = self.send(question, **kwargs)
        reply = self.hear()
        assert reply is not None
        assert reply["request"] == request
        return reply

    def shut_down(self) -> int:
        self.say({"type": "shutdown"})
        return self.process.wait(WAIT_SEC)

    def log(self) -> str:
        return self.stderr.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(WAIT_SEC)
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., TalkingWorker]]:
    """Start a worker on the adapter whose code is given; it is called `Agent` unless `target` says otherwise."""
    workers: list[TalkingWorker] = []

    def start(code: str, *, target: str = "my_adapter:Agent", entry_point: str = "", **more: Any) -> TalkingWorker:
        (tmp_path / "my_adapter.py").write_text(textwrap.dedent(code), encoding="utf-8")
        arguments = ["--entry-point", entry_point] if entry_point else ["--import-path", target]
        workers.append(TalkingWorker(arguments, folder=tmp_path, **more))
        return workers[-1]

    yield start
    for worker in workers:
        worker.end()


@pytest.fixture
def ready(start: Callable[..., TalkingWorker]) -> Callable[..., TalkingWorker]:
    """Start a worker and wait until it is ready."""

    def ready(code: str, **more: Any) -> TalkingWorker:
        worker = start(code, **more)
        first = worker.hear()
        assert first is not None
        assert first["type"] == "ready", (first, worker.log())
        return worker

    return ready
