"""Dagster as a person starts it: `dagster dev`, with its daemon, web server and code location."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from tests.endtoend.project import UserProject
from tests.services.free_ports import free_ports

STEP_SEC = 100
"""How long anything may take that a test waits for."""


LAUNCH = """
mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""


@dataclass(frozen=True)
class DagsterDev:
    """A running `dagster dev`."""

    log: Path
    """What its processes say."""
    url: str
    """Of its web server."""

    def launch(self, *names: str, benchmark: str = "quiz/1.0", **tags: str) -> str:
        """Launch a run of some assets as the UI does; a tag's `__` stands for `/`. Returns its id."""
        return launch(self.url, *names, benchmark=benchmark, **tags)


@contextmanager
def dagster_dev(project: UserProject) -> Iterator[DagsterDev]:
    """Run `dagster dev` in a project until the block ends."""
    log = project.folder / "dagster-dev.log"
    process, port = _started(project, log)
    try:
        if not _comes_up(process, port):  # a connection of another program may have taken the port meanwhile
            _stop(process)
            process, port = _started(project, log)
        wait_for(lambda: serves(port) or process.poll() is not None, what="the web server", log=log)
        assert process.poll() is None, log.read_text(encoding="utf-8")[-4000:]
        yield DagsterDev(log, f"http://127.0.0.1:{port}")
    finally:
        _stop(process)


def _started(project: UserProject, log: Path) -> tuple["subprocess.Popen[bytes]", int]:
    (port,) = free_ports(1)
    command = [str(Path(sys.executable).parent / "dagster"), "dev", "-m", "bench_assets.definitions"]
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*command, "-h", "127.0.0.1", "-p", str(port)],
            cwd=project.folder,
            env=project.environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    return process, port


def _comes_up(process: "subprocess.Popen[bytes]", port: int) -> bool:
    """Wait for the web server for a while; return whether it answers."""
    deadline = time.monotonic() + STEP_SEC / 2
    while not serves(port):
        if process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)


def wait_for(condition: Callable[[], object], *, what: str, log: Path, seconds: float = STEP_SEC) -> None:
    """Wait for something that other processes do; fails with the end of the log."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            tail = log.read_text(encoding="utf-8", errors="replace")[-6000:]
            raise AssertionError(f"{what} did not come within {seconds} s\n{tail}")
        time.sleep(0.25)


def runs_of(instance: dg.DagsterInstance, candidate: str) -> list[dg.DagsterRun]:
    """Return the Dagster runs about a candidate, perhaps among others, oldest first."""
    found = []
    for run in instance.get_runs():
        one = run.tags.get("dagster/partition", "")
        first = run.tags.get("dagster/asset_partition_range_start", one).partition("|")[0]
        last = run.tags.get("dagster/asset_partition_range_end", one).partition("|")[0]
        if first <= candidate <= last:
            found.append(run)
    return list(reversed(found))


def assets_of(run: dg.DagsterRun) -> set[str]:
    """Return the last part of the key of each asset that a run makes."""
    return {key.path[-1] for key in run.asset_selection or ()}


def ticks(instance: dg.DagsterInstance, sensor: str) -> list[dict[str, object]]:
    """Return the finished ticks of a sensor, newest first."""
    states = [state for state in instance.all_instigator_state() if state.instigator_name == sensor]
    return [
        {"status": tick.status.value, "runs": len(tick.run_ids), "skip": tick.skip_reason}
        for state in states
        for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=50)
        if tick.is_completed
    ]


def launch(url: str, *names: str, benchmark: str = "quiz/1.0", **tags: str) -> str:
    """Launch a run of some assets of a benchmark as the UI does; a tag's `__` stands for `/`. Returns its id."""
    paths = [[name] if name == "agent_environment" else [*benchmark.split("/"), name] for name in names]
    selector = {
        "repositoryName": "__repository__",
        "repositoryLocationName": "bench_assets.definitions",
        "jobName": "__ASSET_JOB",
        "assetSelection": [{"path": path} for path in paths],
        "assetCheckSelection": None,
    }
    metadata = {"tags": [{"key": key.replace("__", "/"), "value": value} for key, value in tags.items()]}
    params = {"selector": selector, "mode": "default", "executionMetadata": metadata, "runConfigData": "{}"}
    launched = ask(url, LAUNCH, params=params)["launchPipelineExecution"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    return str(launched["run"]["runId"])


def ask(url: str, query: str, **variables: Any) -> Any:
    """Ask a web server's GraphQL."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        found = json.load(response)
    assert "errors" not in found, found
    return found["data"]


def serves(port: int) -> bool:
    """Return whether a Dagster web server answers on a port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=2) as reply:
            return bool(json.load(reply))
    except OSError:
        return False
