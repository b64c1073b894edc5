"""The assets as Dagster sees them: partitions, several a run, failures, what stays after a stop."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
import pytest

from bench_assets.catalog import dataset
from bench_assets.catalog.benchmarks import find_benchmark, list_benchmarks
from bench_assets.catalog.project import Project
from bench_assets.definitions import build_definitions
from bench_assets.resources.failures import BenchFailure
from bench_assets.stages.answers import AnswerStage
from bench_assets.stages.plan import current_plan
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.workspace import Workspace
from tests.endtoend.project import ECHO, UserProject, quiz, records, write_package

AGENTS = """\
agents:
  echo: {source: ./agent, entry_point: agent}
  other: {source: ./agent, entry_point: agent, kwargs: {unused: 1}}
"""


class Runner:
    """Materializes assets of one project in this process, on an instance of its own."""

    def __init__(self, project: UserProject, instance: dg.DagsterInstance, storage: str) -> None:
        environ = {**project.environ, "BENCH_STORAGE": storage}
        found = Project.find(environ, cwd=project.folder)
        reporter = LogReporter(lambda _: None, detail=lambda _: None)
        self.workspace = Workspace(project=found, environ=environ, reporter=reporter)
        self.definitions = build_definitions(list_benchmarks(found.benchmarks)[0], workspace=self.workspace)
        self.instance = instance

    def materialize(
        self, *names: str, first: str, last: str | None = None, config: Mapping[str, Any] | None = None
    ) -> dg.ExecuteInProcessResult:
        """Materialize assets `quiz/1.0/<name>` for the partitions `first` to `last`."""
        keys = [
            dg.AssetKey(name) if name == "agent_environment" else dg.AssetKey(["quiz", "1.0", name]) for name in names
        ]
        job = self.definitions.get_repository_def().get_implicit_job_def_for_assets(keys)
        tags = {"dagster/partition": first}
        if last:
            tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
        ops = {"quiz__1_0__plan": {"config": dict(config)}} if config else {}
        return job.execute_in_process(instance=self.instance, asset_selection=keys, tags=tags, run_config={"ops": ops})

    def latest(self, name: str, partition: str) -> Mapping[str, Any]:
        """Return the metadata of a partition's newest materialization."""
        key = dg.AssetKey(["quiz", "1.0", name])
        (record,) = self.instance.fetch_materializations(
            dg.AssetRecordsFilter(key, asset_partitions=[partition]), limit=1
        ).records
        return {name: value.value for name, value in record.asset_materialization.metadata.items()}

    def latest_of_all(self, name: str) -> Mapping[str, Any]:
        """Return the metadata of the newest materialization of an asset without partitions."""
        event = self.instance.get_latest_materialization_event(dg.AssetKey(["quiz", "1.0", name]))
        assert event is not None
        return {name: value.value for name, value in event.asset_materialization.metadata.items()}


@pytest.fixture(params=["local", "s3"])
def runner(request, project, database_url) -> Iterator[Runner]:
    project.benchmark(quiz(8))
    project.agents(AGENTS)
    write_package(project.folder / "agent", ECHO)
    project.variables["BENCH_POSTGRES_URL"] = database_url
    storage = str(project.storage)
    if request.param == "s3":
        endpoint = request.getfixturevalue("s3_endpoint")
        patch = request.getfixturevalue("monkeypatch")
        for name, value in endpoint.environment.items():
            patch.setenv(name, value)
        storage = f"s3://{endpoint.bucket}/{project.folder.parent.name}"
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("candidates", ["echo@1", "other@1"])
        yield Runner(project, instance, storage)


def test_candidates_and_shards_are_partitions_with_figures_that_plot(runner):
    runner.materialize("agent_environment", "plan", first="echo@1")
    runner.materialize("answers", "scores", first="echo@1|000", last="echo@1|001")
    runner.materialize("summary", "result_rows", first="echo@1")
    answers, scores = runner.latest("answers", "echo@1|000"), runner.latest("scores", "echo@1|001")
    assert answers["path"] == runner.workspace.store.url("quiz/1.0/answers/echo@1/000.jsonl")
    assert (answers["executions"], answers["answered"], answers["errors"], answers["reused"]) == (4, 4, 0, 0)
    assert scores["correct"] + scores["incorrect"] == scores["scored"] == 4
    summary = runner.latest("summary", "echo@1")
    assert (summary["accuracy"], summary["total"], summary["judged"]) == (0.75, 8, True)
    assert runner.latest("result_rows", "echo@1")["stored"] == "stored"
    assert sorted(name.rpartition("/")[2] for name in runner.workspace.store.list(f"runs/{summary['run_id']}/")) == [
        "answers.jsonl", "environment.lock", "run.json", "scores.jsonl", "summary.json",
    ]  # fmt: skip

    again = runner.materialize("answers", "scores", first="echo@1|000", last="echo@1|001")
    assert again.success
    assert runner.latest("answers", "echo@1|000")["reused"] == 4
    runner.materialize("summary", "result_rows", first="echo@1")
    assert runner.latest("result_rows", "echo@1")["stored"] == "unchanged"


def test_several_candidates_in_one_run_come_as_one_dict(runner):
    runner.materialize("agent_environment", "plan", first="echo@1", last="other@1")
    runner.materialize("answers", "scores", first="echo@1|000", last="other@1|001")
    runner.materialize("summary", "result_rows", "comparison", "leaderboard", first="echo@1", last="other@1")
    assert {runner.latest("summary", candidate)["accuracy"] for candidate in ("echo@1", "other@1")} == {0.75}
    ids = {runner.latest("summary", candidate)["run_id"] for candidate in ("echo@1", "other@1")}
    assert len(ids) == 2
    for run_id in ids:
        names = {name.rpartition("/")[2] for name in runner.workspace.store.list(f"runs/{run_id}/")}
        assert names >= {"gate.json", "report.html"}
    board = runner.latest_of_all("leaderboard")
    assert (board["candidates"], board["missing"]) == (2, 0)


def test_a_missing_upstream_partition_is_named_with_what_to_do(runner):
    with pytest.raises(dg.Failure) as caught:
        runner.materialize("answers", first="echo@1|000")
    assert "`quiz/1.0/plan` of partition `echo@1` is needed" in caught.value.description
    assert "dagster asset materialize --select 'quiz/1.0/plan' --partition 'echo@1'" in caught.value.description
    assert caught.value.allow_retries is False


def test_bad_settings_of_a_plan_fail_before_anything_is_spent(runner):
    with pytest.raises(BenchFailure, match="8 questions") as caught:
        runner.materialize("agent_environment", "plan", first="echo@1", config={"sample": 9})
    assert caught.value.allow_retries is False
    with pytest.raises(BenchFailure, match="is taken by a run of `echo@1`"):
        runner.materialize("agent_environment", "plan", first="echo@1", last="other@1", config={"run_id": "mine"})


def test_a_changed_dataset_needs_a_new_plan(runner):
    runner.materialize("agent_environment", "plan", first="echo@1")
    dataset = runner.workspace.project.benchmarks / "quiz" / "1.0" / "dataset.jsonl"
    dataset.write_text(dataset.read_text().replace("word 1", "word one"), encoding="utf-8")
    with pytest.raises(BenchFailure, match="has changed since the plan"):
        runner.materialize("answers", first="echo@1|000")


def test_a_row_of_the_dataset_is_read_a_fixed_number_of_times_however_many_shards_there_are(runner, monkeypatch):
    read, hashed = [], []
    plain, digest = dataset._plain_question, dataset._digest
    monkeypatch.setattr(dataset, "_plain_question", lambda *row: (read.append(row), plain(*row))[1])
    monkeypatch.setattr(dataset, "_digest", lambda path: (hashed.append(path), digest(path))[1])
    monkeypatch.setattr(dataset, "SETTLED_NS", 0)
    runner.materialize("agent_environment", "plan", first="echo@1")
    runner.materialize("answers", "scores", first="echo@1|000", last="echo@1|001")
    # Checked, and laid out for the run's population, for what is open and for the file; each shard looks at line 1.
    assert len(read) <= 8 * 4 + 2 * 2
    assert len(hashed) == 1


def test_shards_with_open_questions_come_first(runner):
    runner.materialize("agent_environment", "plan", first="echo@1")
    runner.materialize("answers", first="echo@1|000")
    benchmark = find_benchmark(runner.workspace.project.benchmarks, "quiz@1.0")
    plan = current_plan(runner.workspace, benchmark=benchmark, candidate="echo@1")
    asked_first = ["000", "001"] if "s3://" in runner.workspace.store.root_url else ["001", "000"]
    with AnswerStage(runner.workspace, plan, benchmark) as stage:
        assert stage.in_turn(["000", "001"]) == asked_first
    runner.materialize("answers", first="echo@1|000", last="echo@1|001")
    with AnswerStage(runner.workspace, plan, benchmark) as stage:
        assert stage.in_turn(["000", "001"]) == ["000", "001"]


def test_answers_of_the_run_before_are_not_scored_or_counted_for_a_new_plan(runner):
    runner.materialize("agent_environment", "plan", first="echo@1")
    runner.materialize("answers", "scores", first="echo@1|000", last="echo@1|001")
    runner.materialize("agent_environment", "plan", first="echo@1")
    with pytest.raises(BenchFailure, match=r"Materialize `answers`, then `scores`, again"):
        runner.materialize("scores", first="echo@1|000")
    with pytest.raises(BenchFailure, match=r"Materialize `answers`, then `scores`, again"):
        runner.materialize("summary", first="echo@1")


STOPPING = """\
import os
import signal
import time

class Agent:
    def run(self, question):
        if question == "word 2":
            os.kill(int(os.environ["ORCHESTRATOR"]), signal.SIGTERM)
            time.sleep(0.5)
        return question.upper()

def make_agent():
    return Agent()
"""


def test_a_stopped_run_keeps_its_finished_shards(project):
    # Shard 000 has the questions 1, 3, 5, 7 and shard 001 has 2, 4, 6, 8: the signal comes in the second one.
    write_package(project.folder / "agent", STOPPING)
    benchmark = project.benchmark(quiz(8), extra="timeout_sec: 60\n")
    command = [sys.executable, "-m", "bench_assets", "run", "--benchmark", benchmark, "--agent", "./agent"]
    command += ["--agent-entry-point", "agent", "--parallelism", "1"]
    shell = ["sh", "-c", 'exec "$@" --env-override ORCHESTRATOR=$$', "sh", *command]
    done = subprocess.run(
        shell, cwd=project.folder, env=project.environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert "--resume" in done.stderr
    (stored,) = (project.storage / "quiz" / "1.0" / "answers").iterdir()
    assert [path.name for path in stored.iterdir()] == ["000.jsonl"]
    assert len(records(stored / "000.jsonl")) == 4
    with dg.DagsterInstance.from_config(str(project.folder / "dagster_home")) as instance:
        newest = instance.get_runs(limit=1)[0]
        assert newest.is_finished
        assert not newest.is_success
        keys = instance.get_materialized_partitions(dg.AssetKey(["quiz", "1.0", "answers"]))
    assert {key.rpartition("|")[2] for key in keys} == {"000"}
