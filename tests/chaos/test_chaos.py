"""Whatever dies, at whatever moment: the finished answers are there, and the result is that of an undisturbed run.

`make chaos SEED=7 KILLS=200` replays a run of this suite, longer than it is in CI.
"""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench_assets.catalog.benchmarks import find_benchmark
from bench_assets.planning.settings import RunSettings
from bench_assets.stages.environment import build_environment
from bench_assets.stages.plan import plan_run
from tests.chaos.orchestrator import open_workspace
from tests.endtoend.project import UserProject, strict, wait_until_gone, write_package

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("CHAOS_SEED", "1"))
KILLS = int(os.environ.get("CHAOS_KILLS", "12"))
RETRIES = 1
CONCURRENCY = 4
IN_FLIGHT = 3 * CONCURRENCY

HARMLESS = ("sleep", "print-json", "flood", "read-input", "leave-child", "nan", "surrogate", "flaky-raise", "plain")
HARMFUL = ("crash", "hang", "raise-", "none", "flaky-crash", "megabytes")


@dataclass
class Chaos:
    """A project with a run to be disturbed."""

    project: UserProject
    questions: list[str]
    run_id: str = ""

    def plan(self) -> None:
        """Plan a new run."""
        with inside(self.project):
            workspace = open_workspace()
            benchmark = find_benchmark(workspace.project.benchmarks, "quiz@1.0")
            environment = build_environment(workspace, "chaos@local").record
            settings = RunSettings(
                timeout_sec=5.0,
                retries=RETRIES,
                retry_backoff_sec=0.05,
                parallelism=3,
                concurrency=CONCURRENCY,
                checkpoint_flush_every=4,
            )
            plan = plan_run(workspace, benchmark=benchmark, environment=environment, settings=settings)
        self.run_id = plan.run_id

    def start(self) -> subprocess.Popen[str]:
        """Start an orchestrator."""
        environ = {**self.project.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.orchestrator", self.run_id],
            cwd=self.project.folder, env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def finish(self) -> None:
        """Let an orchestrator run to its end."""
        running = self.start()
        stdout, stderr = running.communicate(timeout=600)
        assert stdout == "done\n", stderr

    def answers(self) -> dict[str, tuple[str | None, str | None]]:
        """Return answer and kind of error by question id, times and attempts aside. Fails on a duplicate."""
        with inside(self.project):
            workspace = open_workspace()
            keys = list(workspace.store.list("chaos/answers/"))
            lines = [line for key in keys for line in workspace.store.lines(key)]
        found = [strict(line.decode()) for line in lines]
        assert len({record["id"] for record in found}) == len(found)
        for record in found:
            if record["answer"] is not None and record["answer"].startswith("answer to "):
                assert record["answer"] == expected(record["question"])
        return {record["id"]: (record["answer"], (record["error"] or {}).get("kind")) for record in found}

    def calls(self) -> Counter[str]:
        """Return how often each question was asked, and forget it."""
        path = Path(self.project.variables["CALLS"])
        counted = Counter(path.read_text().split("\n")[:-1]) if path.exists() else Counter()
        for mark in path.parent.glob("calls*"):
            mark.unlink()
        return counted


@pytest.fixture(params=["folder", "s3"])
def chaos(request, project, monkeypatch) -> Chaos:
    if request.param == "s3":
        endpoint = request.getfixturevalue("s3_endpoint")
        project.variables |= endpoint.environment
        project.variables["BENCH_STORAGE"] = f"s3://{endpoint.bucket}/{project.folder.parent.name}"
    source = (ROOT / "tests" / "chaos" / "agent.py").read_text(encoding="utf-8")
    write_package(project.folder / "agent", source)
    project.variables["CALLS"] = str(project.folder / "calls")
    project.agents("agents:\n  chaos: {source: ./agent, entry_point: agent, env: [CALLS]}\n")
    chosen = random.Random(SEED)
    kinds = [chosen.choice(HARMLESS) for _ in range(70)] + [chosen.choice(HARMFUL) for _ in range(12)]
    kinds += ["plain"] * 30 * max(0, KILLS - 12)  # so that the run is not over before its last kill
    chosen.shuffle(kinds)
    questions = [f"{kind} {number}" for number, kind in enumerate(kinds)]
    rows = [{"id": f"q{number}", "question": text, "golden": "x"} for number, text in enumerate(questions)]
    project.benchmark(rows)
    return Chaos(project, questions)


def test_a_run_killed_again_and_again_ends_like_an_undisturbed_one(chaos):
    chaos.plan()
    chaos.finish()
    undisturbed = chaos.answers()
    assert len(undisturbed) == len(chaos.questions)
    chaos.calls()

    chaos.plan()
    moments = random.Random(SEED)
    killed = 0
    while killed < KILLS:
        running = chaos.start()
        try:
            running.wait(timeout=moments.uniform(0.5, 1.6))
        except subprocess.TimeoutExpired:
            running.send_signal(moments.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        out, _ = running.communicate(timeout=60)
        killed += 1
        if out == "done\n":
            break
    chaos.finish()
    assert chaos.answers() == undisturbed
    calls = chaos.calls()
    assert set(calls) == set(chaos.questions)
    # Each kill costs what was in flight: at the agent, and answered but not yet written. So does each question that
    # takes a worker and its other questions with it.
    victims = sum(question.startswith(("crash", "hang", "flaky-crash")) for question in chaos.questions)
    allowed = (
        len(chaos.questions) * (1 + RETRIES) + killed * 3 * IN_FLIGHT + victims * (1 + RETRIES) * (CONCURRENCY - 1)
    )
    assert calls.total() <= allowed
    assert wait_until_gone(f"CALLS={chaos.project.variables['CALLS']}") == []


def test_two_orchestrators_never_work_on_one_shard_at_once(chaos):
    chaos.plan()
    first = chaos.start()
    time.sleep(1.5)
    second = chaos.start()
    outputs = [running.communicate(timeout=600) for running in (first, second)]
    assert "done\n" in [out for out, _ in outputs]
    refused = [err for out, err in outputs if out != "done\n"]
    assert all("ShardBusy" in err for err in refused)
    assert len(chaos.answers()) == len(chaos.questions)
    assert set(chaos.calls()) == set(chaos.questions)
    assert wait_until_gone(f"CALLS={chaos.project.variables['CALLS']}") == []


def expected(question: str) -> str:
    """Return what the agent answers where it does nothing else."""
    return "answer to " + hashlib.sha256(question.encode()).hexdigest()


@contextmanager
def inside(project: UserProject) -> Iterator[None]:
    """Be in the project's folder, with its variables."""
    here, before = Path.cwd(), dict(os.environ)
    variables = project.environ
    try:
        os.chdir(project.folder)
        os.environ.clear()
        os.environ.update(variables)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        os.chdir(here)
