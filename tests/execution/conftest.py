"""Engines over real workers. After each test the process table is searched for what they may have left behind."""

import hashlib
import os
import secrets
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_assets.contracts.answer import OpenExecution, SettledExecution
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.execution.engine import Engine, Progress, ShardResult
from bench_assets.execution.journal import Journal, open_journal
from bench_assets.execution.launch import WorkerLaunch

WORKER_SOURCE = Path(__file__).parents[2] / "worker" / "src"
WAIT_SEC = 30.0


def wait_for(condition: Callable[[], Any], *, seconds: float = WAIT_SEC) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.01)


def processes_with(tag: str) -> list[int]:
    """Return the processes that were started with `tag` in their environment, and zombies of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
                state, parent = stat[stat.rindex(b")") + 2 :].split()[:2]
                zombie = state == b"Z" and int(parent) == os.getpid()
                if zombie or tag.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def execution(question: str, *, row: str | None = None, repetition: int = 1, **more: Any) -> OpenExecution:
    name = f"{row or question}/{repetition}"
    return OpenExecution(
        execution_id=hashlib.sha256(name.encode()).hexdigest(),
        id=row or question,
        repetition=repetition,
        question=question,
        **more,
    )


class Bench:
    """One agent in a folder, and engines that ask it."""

    def __init__(self, folder: Path, *, tag: str) -> None:
        self.folder = folder
        self.tag = tag
        self.events: list[Progress] = []

    def adapter(self, code: str) -> None:
        text = "import asyncio, json, os, signal, subprocess, sys, time\nFOLDER = os.environ['TEST_FOLDER']\n"
        (self.folder / "my_adapter.py").write_text(text + textwrap.dedent(code), encoding="utf-8")

    def launch(self, **more: Any) -> WorkerLaunch:
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{WORKER_SOURCE}:{self.folder}",
            "TEST_FOLDER": str(self.folder),
            "TEST_TAG": self.tag,
        }
        settings = {
            "python": Path(sys.executable),
            "connection": ("--import-path", "my_adapter:Agent"),
            "kwargs": {},
            "run_id": "20260102-030405-0a0b0c0d",
            "log_dir": self.folder / "logs",
            **more,
        }
        return WorkerLaunch(**settings | {"env": env | settings.get("env", {})})

    def engine(self, *, launch: dict[str, Any] | None = None, stop_grace_sec: float = 10.0, **policy: Any) -> Engine:
        settings = {"parallelism": 1, "timeout_sec": 30, "worker_ready_timeout_sec": 30, "retries": 0} | policy
        return Engine(
            self.launch(**launch or {}),
            policy=ExecutionPolicy(**settings | {"retry_backoff_sec": settings.get("retry_backoff_sec", 0.01)}),
            on_event=self.events.append,
            stop_grace_sec=stop_grace_sec,
        )

    def journal(self, shard: str = "000") -> Journal:
        return open_journal(self.folder / "checkpoints", run_id="run", shard=shard, flush_every=50)

    def ask(self, *questions: str | OpenExecution, **policy: Any) -> dict[str, SettledExecution]:
        """Ask everything in one run; return what is settled, by question id."""
        self.result, settled = self.ask_with_result(*questions, **policy)
        return settled

    def ask_with_result(
        self, *questions: str | OpenExecution, **policy: Any
    ) -> tuple[ShardResult, dict[str, SettledExecution]]:
        executions = [execution(one) if isinstance(one, str) else one for one in questions]
        with self.engine(**policy) as engine, self.journal() as journal:
            result = engine.run(executions, journal=journal, shard="000")
            return result, {one.id: journal.read(one.execution_id) for one in executions}

    def touched(self, name: str) -> bool:
        return (self.folder / name).exists()

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def log(self, worker: str = "000-1") -> str:
        return (self.folder / "logs" / f"{worker}.log").read_text(encoding="utf-8")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    tag = f"test-{secrets.token_hex(8)}"
    yield Bench(tmp_path, tag=tag)
    left = processes_with(tag)
    assert not left, f"processes left behind: {left}"
