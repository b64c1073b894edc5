"""The recipes of `docs/automation.md`, done: the schedule's code, and what the jobs of GitHub and GitLab run."""

import importlib
import re
import subprocess
import sys
from datetime import UTC, datetime

import dagster as dg
import pytest
import yaml

from bench_assets.catalog.agents import load_agents
from bench_assets.catalog.benchmarks import find_benchmark
from bench_assets.catalog.deployment import load_deployment
from tests.endtoend.project import ECHO, quiz, write_package
from tests.readme.checkout import ROOT
from tests.readme.reading import blocks

GUIDE = (ROOT / "docs" / "automation.md").read_text(encoding="utf-8")
TAG = "bench/2026-11"
STAND_INS = {"word_arithmetic": "quiz", "/opt/bench/dagster.yaml": "team.yaml"}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def recipe(language, first_line):
    """Return the guide's block whose first line begins so, with the test's names in it."""
    (found,) = [block.text for block in blocks(GUIDE, language) if block.text.startswith(f"# {first_line}")]
    for written, real in STAND_INS.items():
        found = found.replace(written, real)
    return found


@pytest.fixture
def team(project):
    project.benchmark(quiz(2), extra="automation: true\n")
    project.agents("agents:\n  kg: {source: ./agent, entry_point: agent}\n")
    write_package(project.folder / "agent", ECHO)
    (project.folder / "team.yaml").write_text("telemetry: {enabled: false}\nnux: {enabled: false}\n", encoding="utf-8")
    project.variables["PATH"] = f"{ROOT / '.venv' / 'bin'}:{sys.prefix}/bin:/usr/bin:/bin"
    return project


def planned(project):
    """Return the candidates that have a plan, in Dagster's eyes."""
    with dg.DagsterInstance.from_config(str(project.folder / "dagster_home")) as instance:
        return instance.get_materialized_partitions(dg.AssetKey(["quiz", "1.0", "plan"]))


def test_the_schedule_loads_and_its_request_makes_a_plan(team, monkeypatch):
    (team.folder / "nightly.py").write_text(recipe("python", "nightly.py"), encoding="utf-8")
    (command,) = set(re.findall(r"`(dagster definitions validate [^`]+)`", GUIDE))
    done = team.program("bash", "-c", command)
    assert done.returncode == 0, done.stderr
    assert "All code locations passed validation" in done.stderr + done.stdout

    for name, value in team.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(team.folder)
    monkeypatch.syspath_prepend(str(team.folder))
    module = importlib.import_module("nightly")
    monkeypatch.delitem(sys.modules, "nightly")
    repository = module.defs().get_repository_def()
    at = datetime(2026, 11, 30, 2, tzinfo=UTC)
    with dg.DagsterInstance.from_config(str(team.folder / "dagster_home")) as instance:
        context = dg.build_schedule_context(instance=instance, scheduled_execution_time=at, repository_def=repository)
        requests = repository.get_schedule_def("nightly").evaluate_tick(context).run_requests
        assert [(one.run_key, one.partition_key) for one in requests] == [("kg@main 2026-11-30", "kg@main")]
        assert requests[0].tags["dagster/priority"] == "-10"
        job = repository.get_job("new_plan")
        assert job.execute_in_process(instance=instance, partition_key=requests[0].partition_key).success
    assert planned(team) == {"kg@main"}
    assert {"carry_on", "new_git_tags"} <= {sensor.name for sensor in repository.sensor_defs}


def test_the_job_of_github_makes_a_plan_for_the_tag(team):
    workflow = yaml.load(recipe("yaml", ".github/workflows/bench.yml"), Loader=yaml.BaseLoader)
    assert workflow["on"]["push"]["tags"] == ["bench/*"]
    (job,) = workflow["jobs"].values()
    (step,) = job["steps"]
    given = job["env"]["CANDIDATE"].replace("${{ github.ref_name }}", TAG)
    needed = {name for name, value in job["env"].items() if "secrets." in value}
    assert all(job["env"][name] == f"${{{{ secrets.{name} }}}}" for name in needed)
    done = in_bash(team, step["run"], CANDIDATE=given)
    assert done.returncode == 0, done.stderr
    assert planned(team) == {f"kg@{TAG}"}


def test_the_job_of_gitlab_makes_a_plan_for_the_tag(team):
    (job,) = yaml.safe_load(recipe("yaml", ".gitlab-ci.yml")).values()
    (pattern,) = re.findall(r"^\$CI_COMMIT_TAG =~ /(.+)/$", job["rules"][0]["if"])
    assert re.search(pattern.replace(r"\/", "/"), TAG)
    given = job["variables"]["CANDIDATE"].replace("$CI_COMMIT_TAG", TAG)
    done = in_bash(team, "\n".join(job["script"]), CANDIDATE=given)
    assert done.returncode == 0, done.stderr
    assert planned(team) == {f"kg@{TAG}"}


def test_the_settings_that_are_shown_are_read(team):
    shown = {text.partition("\n")[0]: text for text in (block.text for block in blocks(GUIDE, "yaml"))}
    team.agents(shown["# agents.yaml"])
    watched = load_agents(team.folder / "agents.yaml")["kg"].watch
    assert (watched.benchmarks, watched.since) == (["word_arithmetic@1.0"], "v2.0.0")
    team.benchmark(quiz(2), extra=shown["# benchmark.yaml"])
    assert find_benchmark(team.folder / "benchmarks", "quiz@1.0").spec.automation
    (team.folder / "deployment.yaml").write_text(shown["# deployment.yaml"], encoding="utf-8")
    notify = load_deployment(team.folder / "deployment.yaml").notify
    assert (notify.webhook_variable, notify.events) == ("TEAM_WEBHOOK", ["GO", "NO-GO", "FAILURE"])


def in_bash(project, script, **variables):
    project.variables |= variables
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=project.folder, env=project.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("place", [".github/workflows/bench.yml", ".gitlab-ci.yml"])
def test_both_jobs_use_the_image_and_variables_of_the_deployment(place):
    job = yaml.safe_load(recipe("yaml", place))
    job = next(iter(job["jobs"].values())) if "jobs" in job else job["bench"]
    assert (job.get("container") or job["image"]) == "registry.example.org/bench-assets:1"
    given = {name for name in (job.get("env") or job["variables"]) if name.startswith(("BENCH_", "DAGSTER_", "AWS_"))}
    deploying = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert {name for name in given if f"`{name}`" not in deploying} <= {"AWS_SECRET_ACCESS_KEY"}
    assert "deploy/dagster.yaml /opt/bench/" in (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
