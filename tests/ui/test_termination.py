"""A running shard, terminated from the UI: the page's button sends the request that this test sends."""

import json
import subprocess
import sys
import time
import urllib.request
from typing import Any

import pytest

from tests.endtoend.project import UserProject, quiz, records, strict, wait_until_gone, write_package
from tests.ui.server import dagster_dev

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

SLOW = """\
import os
import time

class Agent:
    def run(self, question):
        with open(os.environ["ASKED"], "a") as file:
            file.write(question + "\\n")
        time.sleep(0 if os.path.exists(os.environ["ASKED"] + ".quick") else 1)
        return question.upper()

make_agent = Agent
"""

LAUNCH = """
mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }
"""
TERMINATE = "mutation($id: String!) { terminateRun(runId: $id) { __typename } }"
STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"


def test_a_run_terminated_from_the_ui_is_canceled_leaves_no_worker_and_goes_on_later(project):
    write_package(project.folder / "agent", SLOW)
    project.agents("agents:\n  slow: {source: ./agent, entry_point: agent, env: [ASKED]}\n")
    project.benchmark(quiz(8))
    (project.folder / "workspace.yaml").write_text(
        "load_from:\n  - python_module: {module_name: bench_assets.definitions, working_directory: .}\n",
        encoding="utf-8",
    )
    asked = project.folder / "asked"
    project.variables |= {"ASKED": str(asked)}
    assert project.cli("candidates", "add", "slow@1").returncode == 0
    planned = materialize(project, "agent_environment,quiz/1.0/plan", "--partition", "slow@1")
    assert planned.returncode == 0, planned.stderr

    with dagster_dev(project.folder, environment=project.environ) as address:
        run = launch_answers(address)
        wait_for(lambda: asked.exists() and asked.read_text().count("\n") >= 2, what="two questions", seconds=120)
        assert ask(address, TERMINATE, id=run)["terminateRun"]["__typename"] == "TerminateRunSuccess"
        wait_for(lambda: status(address, run) == "CANCELED", what="the run to be canceled", seconds=60)
        assert wait_until_gone(f"ASKED={asked}") == []
    first = asked.read_text().split("\n")[:-1]
    (stopped,) = project.runs()
    assert strict((stopped / "run.json").read_text())["status"] == "interrupted"
    kept = {record["question"] for record in records(stopped / "answers.jsonl")}
    assert kept

    asked.unlink()
    (project.folder / "asked.quick").touch()
    done = materialize(project, "quiz/1.0/answers", "--partition-range", "slow@1|000...slow@1|001")
    assert done.returncode == 0, done.stderr
    again = asked.read_text().split("\n")[:-1]
    assert not kept & set(again)
    assert set(first) | set(again) == {f"word {n}" for n in range(1, 9)}


def materialize(project: UserProject, select: str, *options: str) -> "subprocess.CompletedProcess[str]":
    """Materialize by hand."""
    command = [
        sys.executable,
        "-m",
        "dagster",
        "asset",
        "materialize",
        "-m",
        "bench_assets.definitions",
        "--select",
        select,
    ]
    return project.program(*command, *options)


def launch_answers(address: str) -> str:
    """Launch both shards as the UI does. Returns the run's id."""
    selector = {
        "repositoryName": "__repository__",
        "repositoryLocationName": "bench_assets.definitions",
        "jobName": "__ASSET_JOB",
        "assetSelection": [{"path": ["quiz", "1.0", "answers"]}],
    }
    tags = {"dagster/asset_partition_range_start": "slow@1|000", "dagster/asset_partition_range_end": "slow@1|001"}
    metadata = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
    params = {"selector": selector, "mode": "default", "executionMetadata": metadata, "runConfigData": "{}"}
    launched = ask(address, LAUNCH, params=params)["launchPipelineExecution"]
    assert launched["__typename"] == "LaunchRunSuccess", launched
    return launched["run"]["runId"]


def status(address: str, run: str) -> str:
    """Return the run's status."""
    return ask(address, STATUS, id=run)["runOrError"]["status"]


def wait_for(done: Any, *, what: str, seconds: float) -> None:
    """Wait until `done()`, at most so many seconds."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.2)


def ask(address: str, query: str, **variables: Any) -> Any:
    """Ask the web server's GraphQL."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{address}/graphql", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        found = json.load(response)
    assert "errors" not in found, found
    return found["data"]
