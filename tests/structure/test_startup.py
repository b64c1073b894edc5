"""What a start imports and writes down. Counts only: the times are `make bench ITEM=startup`'s."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from tests.endtoend.project import ECHO, UserProject, quiz, write_package

ROOT = Path(__file__).parents[2]

HEAVY = {"dagster", "boto3", "botocore", "sqlalchemy", "alembic", "numpy", "scipy", "openai", "psycopg2", "aiohttp"}


def modules(code: str, *arguments: str, cwd: Path) -> set[str]:
    """Return what a fresh process has imported after running `code`."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("BENCH", "DAGSTER"))}
    told = f"{code}\nimport json, sys\nprint(chr(10) + json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", told, *arguments],
        cwd=cwd,
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    made = UserProject(folder=folder, cache=folder / "cache")
    made.benchmark(quiz(3), name="first")
    made.benchmark(quiz(3), name="second")
    return folder


@pytest.mark.parametrize("command", [["--help"], ["benchmarks"], ["validate", "benchmarks/first/1.0"]])
def test_what_asks_nothing_imports_neither_dagster_nor_anything_heavy(project, command):
    code = "import sys\nfrom bench_assets.cli.main import execute\nassert execute(sys.argv[1:]) == 0"
    assert not modules(code, *command, cwd=project) & HEAVY


def test_the_definitions_import_little_beyond_dagsters_own(project):
    bare = modules("from perf.bare_definitions import defs\ndefs.get_repository_def()", cwd=project)
    ours = modules("from bench_assets.definitions import defs\ndefs().get_repository_def()", cwd=project) - bare
    assert not ours & HEAVY
    assert len(ours) <= 90, sorted(ours)  # 60 of them when this was written; each stage brings dozens


def test_a_steps_own_code_is_not_imported_before_the_step(project):
    ours = modules("from bench_assets.definitions import defs\ndefs().get_repository_def()", cwd=project)
    later = ("execution", "judging", "analysis", "environments", "planning", "watching")
    assert not {name for name in ours if name.startswith(tuple(f"bench_assets.{part}" for part in later))}


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """Return how many events a whole `bench-assets run` writes, by stage, at some number of shards."""
    folder = tmp_path_factory.mktemp("events")

    def count(shards: int) -> list[int]:
        home = folder / f"{shards}" / "dagster_home"
        home.mkdir(parents=True)
        made = UserProject(folder=home.parent, cache=folder / "cache")
        name = made.benchmark(quiz(shards * 2))
        spec = home.parent / "benchmarks" / "quiz" / "1.0" / "benchmark.yaml"
        spec.write_text(spec.read_text(encoding="utf-8").replace("shards: 2", f"shards: {shards}"), encoding="utf-8")
        write_package(home.parent / "agent", ECHO)
        done = made.cli("run", "--benchmark", name, "--agent", "./agent", "--agent-entry-point", "agent")
        assert done.returncode == 0, done.stderr
        instance = dg.DagsterInstance.local_temp(str(home))
        with instance:
            runs = sorted(instance.get_run_records(), key=lambda record: record.create_timestamp)
            return [len(instance.all_logs(record.dagster_run.run_id)) for record in runs]

    return count


def test_each_shard_costs_dagster_the_same_few_events(events):
    few, many = events(2), events(8)
    first, shards, last = zip(few, many, strict=True)
    assert first[0] == first[1]
    assert last[0] == last[1]
    assert (shards[1] - shards[0]) / 6 == 6
