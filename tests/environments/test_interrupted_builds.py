import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench_assets.environments.cache import EnvironmentCache
from bench_assets.errors import EnvironmentFailed
from tests.environments.projects import make_project, said_by, wait_until

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def start(tmp_path, environ, worker):
    """Start a build in a process of its own; whatever is left of it is ended after the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(source: Path, *, timeout_sec: float = 60) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.environments.building"]
        process = subprocess.Popen(
            [*command, str(tmp_path / "cache"), str(source), str(worker), str(timeout_sec)],
            cwd=REPOSITORY,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate(timeout=30)


def result_of(process: subprocess.Popen[str]) -> dict[str, object]:
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return json.loads(output)


def markers(root: Path) -> list[Path]:
    return [path for path in root.glob("*/*/environment.json") if path.parent.name != "current"]


def test_two_processes_that_want_the_same_environment_build_it_once(start, gated):
    first, second = start(gated.path), start(gated.path)
    wait_until(lambda: gated.builds == 1)
    gated.open()
    results = [result_of(first), result_of(second)]
    assert sorted(result["reused"] for result in results) == [False, True]
    assert results[0]["python"] == results[1]["python"]
    assert gated.builds == 1


def test_a_build_killed_in_the_middle_is_never_used_and_is_cleared_away(start, gated, cache, ask):
    killed = start(gated.path)
    wait_until(lambda: gated.builds == 1)
    killed.kill()
    killed.communicate(timeout=30)
    assert markers(cache.root) == []
    (left,) = cache.root.glob("*/*/venv")
    gated.open()  # what the killed process had started may still write; it does so beside the next build
    built = cache.ensure(ask(str(gated.path)))
    assert (built.reused, said_by(built.python)) == (False, "slow")
    assert not left.exists()
    assert len(markers(cache.root)) == 1


@pytest.mark.parametrize("after_sec", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_killed_at_any_moment_the_next_process_gets_a_working_environment(start, cache, ask, tmp_path, after_sec):
    agent = make_project(tmp_path / "agent")
    process = start(agent)
    wait_until(lambda: any(cache.root.glob("*")))
    time.sleep(after_sec)  # the moment is the point: wherever it falls, the outcome has to be the same
    process.kill()
    process.communicate(timeout=30)
    built = cache.ensure(ask("./agent"))
    assert said_by(built.python) == "v1"
    assert len(markers(cache.root)) == 1


def test_ctrl_c_ends_the_build_and_what_it_started(start, gated, cache):
    process = start(gated.path)
    wait_until(lambda: gated.builds == 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert list(cache.root.glob("*/*/venv")) == []
    assert not [pid for pid in children_in(gated.path.parent) if pid != os.getpid()]


def test_a_build_that_takes_too_long_is_ended_and_the_limit_named(environ, tmp_path, ask, gated):
    with EnvironmentCache(tmp_path / "cache", build_timeout_sec=1.5, environ=environ) as cache:
        with pytest.raises(EnvironmentFailed, match=r"build_timeout_sec = 1\.5` is over"):
            cache.ensure(ask(str(gated.path)))
        assert list(cache.root.glob("*/*/venv")) == []
        wait_until(lambda: not children_in(cache.root), seconds=10)


def test_waiting_for_another_process_is_bounded_too(start, environ, cache, ask, gated):
    start(gated.path)
    wait_until(lambda: gated.builds == 1)
    lines = []
    impatient = EnvironmentCache(cache.root, build_timeout_sec=0.5, environ=environ, on_line=lines.append)
    with pytest.raises(EnvironmentFailed, match=r"has been building the environment of `kg@v1` for 0\.5 s"):
        impatient.ensure(ask(str(gated.path)))
    assert lines == ["Another process builds the environment of `kg@v1`; waiting for it."]


def test_two_threads_of_one_process_build_once(cache, ask, gated):
    results = []
    threads = [threading.Thread(target=lambda: results.append(cache.ensure(ask(str(gated.path))))) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: gated.builds == 1)
    gated.open()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(built.reused for built in results) == [False, True]
    assert gated.builds == 1


def children_in(folder: Path) -> list[int]:
    """Return the processes that were started with a path below `folder` or work there."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                words = (process / "cmdline").read_bytes() + str((process / "cwd").readlink()).encode()
            except OSError:
                continue
            if str(folder).encode() in words:
                found.append(int(process.name))
    return found
