"""A benchmark spread over machines gives what one machine gives."""

import json
import shutil
from collections import Counter

import dagster as dg
import pytest

from tests.deployment.machines import COUNTING, DAGSTER_YAML, Machine
from tests.endtoend.project import quiz, write_package
from tests.endtoend.test_partitions import Runner
from tests.services.postgres import new_database

SHARDS = 8
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def team(project, s3_endpoint, postgres_server, monkeypatch):
    """The project on its first machine, which is this process; all of them share the services."""
    for name, value in s3_endpoint.environment.items():
        monkeypatch.setenv(name, value)
    project.benchmark(quiz(2 * SHARDS))
    spec = project.folder / "benchmarks" / "quiz" / "1.0" / "benchmark.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("shards: 2", f"shards: {SHARDS}"), encoding="utf-8")
    project.agents("agents:\n  kg: {source: ./agent, entry_point: agent, env: [ASKED, SLOWLY]}\n")
    write_package(project.folder / "agent", COUNTING)
    (project.folder / "dagster_home" / "dagster.yaml").write_text(DAGSTER_YAML, encoding="utf-8")
    with new_database(postgres_server) as dagsters, new_database(postgres_server) as ours:
        project.variables |= {
            "DAGSTER_POSTGRES_URL": dagsters.replace("postgresql://", "postgresql+psycopg2://"),
            "BENCH_POSTGRES_URL": ours,
            "BENCH_STORAGE": f"s3://{s3_endpoint.bucket}/{s3_endpoint.new_prefix()}",
            "SLOWLY": "0.5",
            "ASKED": str(project.folder.parent / "asked"),
        }
        yield project


@pytest.fixture
def runner(team, monkeypatch):
    """The first machine's Dagster, in this process."""
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", team.variables["DAGSTER_POSTGRES_URL"])
    with dg.DagsterInstance.from_config(str(team.folder / "dagster_home")) as instance:
        instance.add_dynamic_partitions("candidates", ["kg@many", "kg@alone"])
        yield Runner(team, instance, team.variables["BENCH_STORAGE"])


def figures(runner, candidate):
    """Return the summary of a candidate without what differs between any two runs."""
    stored = json.loads(runner.workspace.store.read(f"quiz/1.0/summary/{candidate}.json"))
    timed = ("run_id", "latency", "duration", "started", "finished", "cost", "usage")
    return {name: value for name, value in stored["summary"].items() if not name.startswith(timed)}


def test_eight_machines_restore_one_build_and_sum_up_to_what_one_gives(team, runner, tmp_path):
    runner.materialize("agent_environment", "plan", first="kg@many")
    shutil.rmtree(team.folder / "agent")  # only the store has it now
    machines = [Machine(tmp_path / f"machine-{number}", team, team.variables) for number in range(SHARDS)]
    twin = Machine(tmp_path / "twin", team, team.variables)
    pods = [machine.materialize("answers", partition=f"kg@many|{n:03d}") for n, machine in enumerate(machines)]
    pods.append(twin.materialize("answers", partition="kg@many|000"))
    ended = [(pod.communicate(timeout=300)[0], pod.returncode) for pod in pods]

    *_, (first, first_code), (second, second_code) = ended[1:SHARDS], ended[0], ended[-1]
    assert [code for _, code in ended[1:SHARDS]] == [0] * (SHARDS - 1), ended
    assert 0 in (first_code, second_code)
    for output, code in ((first, first_code), (second, second_code)):
        assert code == 0 or "works on it" in output, output
    asked = Counter((tmp_path / "asked").read_text(encoding="utf-8").splitlines())
    assert asked == dict.fromkeys((f"word {n}" for n in range(1, 2 * SHARDS + 1)), 1), "nothing is asked twice"

    shared = [key for key in runner.workspace.store.list("environments/shared/") if key.endswith(".json")]
    assert len(shared) == 1
    assert [len(machine.environments) for machine in machines[1:]] == [1] * (SHARDS - 1)
    restoring = "restoring the environment of kg@many from its lock"
    assert all(restoring in output for output, _ in ended[1:SHARDS])
    # Of the two on one shard, the one that comes when all is answered needs no environment.
    assert restoring in first + second
    assert machines[0].environments or twin.environments

    runner.materialize("scores", first="kg@many|000", last=f"kg@many|{SHARDS - 1:03d}")
    runner.materialize("summary", "result_rows", first="kg@many")
    write_package(team.folder / "agent", COUNTING)
    runner.materialize("agent_environment", "plan", first="kg@alone")
    runner.materialize("answers", "scores", first="kg@alone|000", last=f"kg@alone|{SHARDS - 1:03d}")
    runner.materialize("summary", "result_rows", first="kg@alone")
    assert figures(runner, "kg@many") == figures(runner, "kg@alone")
    assert figures(runner, "kg@many")["correct"] == 12
    assert figures(runner, "kg@many")["total"] == 2 * SHARDS
