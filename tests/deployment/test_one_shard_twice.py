"""Two processes that materialize one shard at once, on both kinds of store: one works, and nothing is done twice."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest

from tests.comparing.storing import Runs
from tests.endtoend.project import quiz, write_package
from tests.endtoend.test_partitions import Runner
from tests.environments.projects import wait_until

GATED = """\
import os
import time

class Agent:
    def run(self, question):
        with open(os.environ["ASKED"], "a") as asked:
            asked.write(question + "\\n")
        while not os.path.exists(os.environ["ASKED"] + ".gate"):
            time.sleep(0.05)
        return question.upper()

make_agent = Agent
"""
"""An agent that notes each question, and answers once the test lets it."""


@pytest.fixture(params=["folder", "s3"])
def storage(request, project, monkeypatch):
    """Where the results go: a folder, or a bucket of a real server."""
    if request.param == "folder":
        return str(project.storage)
    endpoint = request.getfixturevalue("s3_endpoint")
    for name, value in endpoint.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://{endpoint.bucket}/{endpoint.new_prefix()}"


@pytest.fixture
def materialize(project):
    """Start `dagster asset materialize` as a person or a pod would; what is left at the end is killed."""
    started = []
    yield lambda *names, partition: started.append(start(project, *names, partition=partition)) or started[-1]
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=20)


def start(project, *names, partition):
    select = ",".join(f"quiz/1.0/{name}" for name in names)
    program = str(Path(sys.executable).parent / "dagster")
    command = [program, "asset", "materialize", "-m", "bench_assets.definitions", "--select", select]
    return subprocess.Popen(
        [*command, "--partition", partition], cwd=project.folder, env=project.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_second_process_is_refused_while_the_first_works_and_finds_everything_done_after_it(
    project, storage, materialize
):
    asked = project.folder.parent / "asked"
    project.benchmark(quiz(4), extra="timeout_sec: 200\n")
    project.agents("agents:\n  kg: {source: ./agent, entry_point: agent, env: [ASKED]}\n")
    write_package(project.folder / "agent", GATED)
    project.variables |= {"ASKED": str(asked), "BENCH_STORAGE": storage}
    with dg.DagsterInstance.from_config(str(project.folder / "dagster_home")) as instance:
        instance.add_dynamic_partitions("candidates", ["kg@1"])
        runner = Runner(project, instance, storage)
        runner.materialize("agent_environment", "plan", first="kg@1")

        first = materialize("answers", "scores", partition="kg@1|000")
        wait_until(asked.exists, seconds=120)
        second = materialize("answers", "scores", partition="kg@1|000")
        said, _ = second.communicate(timeout=120)
        assert second.returncode != 0
        assert f"process `{first.pid}`" in said
        assert "works on it" in said
        assert first.poll() is None
        Path(f"{asked}.gate").touch()
        told, _ = first.communicate(timeout=120)
        assert first.returncode == 0, told

        after = materialize("answers", "scores", partition="kg@1|000")
        told, _ = after.communicate(timeout=120)
        assert after.returncode == 0, told
        latest = runner.latest("answers", "kg@1|000")
        assert (latest["answered"], latest["reused"]) == (2, 2)
    store = runner.workspace.store
    answers = store.read("quiz/1.0/answers/kg@1/000.jsonl").decode().splitlines()
    assert len(answers) == 2
    assert len(store.read("quiz/1.0/scores/kg@1/000.jsonl").decode().splitlines()) == 2
    assert set(Counter(asked.read_text(encoding="utf-8").splitlines()).values()) == {1}, "nothing is asked twice"


def test_a_leaderboard_takes_the_versions_that_ran_and_names_the_one_that_never_did(project, storage):
    project.variables["BENCH_STORAGE"] = storage
    runs = Runs(project)
    runs.add("kg@v1", right=30)
    runs.add("kg@v2", right=20)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("candidates", ["kg@v1", "kg@v2", "kg@never"])
        runner = Runner(project, instance, storage)
        key = dg.AssetKey(["quiz", "1.0", "leaderboard"])
        job = runner.definitions.get_repository_def().get_implicit_job_def_for_assets([key])
        assert job.execute_in_process(instance=instance, asset_selection=[key]).success
        board = runner.latest_of_all("leaderboard")
    assert (board["candidates"], board["missing"]) == (2, 1)
    assert "kg@never" in str(board)
