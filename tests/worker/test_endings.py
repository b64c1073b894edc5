"""However a worker's life ends, nothing of it stays."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FAMILY = """
    import os, signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    class Agent:
        def run(self, question):
            subprocess.Popen(["sleep", "300"])
            deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)"
            subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
            subprocess.Popen("setsid sleep 300 & exit 0", shell=True, env={}).wait()
            if question == "busy":
                open(os.environ["TEST_FOLDER"] + "/begun", "w").close()
                while True: pass
            if question == "die": os.kill(os.getpid(), signal.SIGKILL)
            if question == "exit": os._exit(3)
            return "ok"
"""


def family(root: int) -> set[int]:
    """Return the ids of a process and of all below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat[stat.rindex(b")") + 2 :].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def wait_for(condition, *, seconds=20.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.02)


def all_gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture
def busy(ready, tmp_path):
    """A worker that is busy for ever, blocks SIGTERM, and has children in three places."""
    worker = ready(FAMILY)
    worker.send("busy")
    wait_for((tmp_path / "begun").exists)
    pids = family(worker.process.pid)
    assert len(pids) == 5
    return worker, pids


def test_when_bench_assets_is_gone_the_worker_ends_all_its_processes(busy):
    worker, pids = busy
    worker.process.stdin.close()
    started = time.monotonic()
    worker.process.wait(10)
    assert time.monotonic() - started < 3
    assert all_gone(pids)


def test_a_terminated_worker_ends_all_its_processes_also_those_that_ignore_it(busy):
    worker, pids = busy
    worker.process.terminate()
    worker.process.wait(10)
    assert all_gone(pids)


def test_a_killed_worker_takes_the_agents_process_with_it(busy):
    worker, pids = busy
    agent = min(pids - {worker.process.pid})
    worker.process.kill()
    worker.process.wait(10)
    wait_for(lambda: all_gone({agent}))
    for pid in pids:  # the rest has no keeper any more; bench-assets looks for it, as it has more ways to
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(("question", "returncode"), [("die", -signal.SIGKILL), ("exit", 3)])
def test_when_the_agents_process_ends_the_worker_ends_the_rest_and_ends_the_same_way(ready, question, returncode):
    worker = ready(FAMILY)
    assert worker.ask("go")["answer"] == "ok"
    pids = family(worker.process.pid)
    worker.send(question)
    assert worker.hear() is None
    assert worker.process.wait(10) == returncode
    assert all_gone(pids)


def test_what_a_finished_agent_left_running_is_ended(ready):
    worker = ready(FAMILY)
    worker.ask("go")
    pids = family(worker.process.pid)
    assert len(pids) == 5
    assert worker.shut_down() == 0
    assert all_gone(pids)


def test_the_agent_has_no_zombies(ready):
    worker = ready(FAMILY)
    worker.ask("go")
    wait_for(lambda: not any(zombie(pid) for pid in family(worker.process.pid)))


def zombie(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat[stat.rindex(b")") + 2 :].startswith(b"Z")


def old_python() -> str | None:
    """Return a Python 3.9 of this machine; one that is found on PATH may be a shim that leads nowhere."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for python in (shutil.which("python3.9"), *sorted(versions.glob("3.9.*/bin/python"))):
        if python and subprocess.run([python, "-V"], capture_output=True, check=False).stdout.startswith(b"Python 3.9"):
            return str(python)
    return None


def test_it_runs_on_the_oldest_python_that_it_promises(ready):
    python = old_python()
    if python is None:
        pytest.skip("no Python 3.9 on PATH or among pyenv's versions")
    worker = ready("class Agent:\n    async def run(self, question): return {'answer': question}", python=python)
    assert worker.ask("old")["answer"] == "old"
    assert worker.shut_down() == 0
