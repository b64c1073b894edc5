"""Runs as pods: what the launcher asks the cluster for, that the pod's command works, and what a deleted pod leaves."""

import json
import logging
import os
import shutil
import signal
from collections import Counter

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.run_coordinator import SubmitRunContext
from dagster._daemon.monitoring.run_monitoring import monitor_started_run

from bench_assets.storage.postgres.connecting import parse_url
from tests.deployment.machines import COUNTING
from tests.endtoend.project import quiz, write_package
from tests.endtoend.test_partitions import Runner
from tests.environments.projects import wait_until
from tests.kubernetes.chart import dagster_yaml, values
from tests.kubernetes.cluster import running_cluster
from tests.kubernetes.schema import faults
from tests.services.opt_out import unless_opted_out
from tests.services.postgres import new_database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DEPLOYMENT = """\
pod:
  cpu: 500m
  memory: 2Gi
  env_from: [bench-tool]
  netrc_secret: bench-git
  cache_claim: bench-cache
"""
AGENTS = """\
agents:
  kg:
    source: ./agent
    entry_point: agent
    env: [ASKED, SLOWLY, AGENT_TOKEN, DEPTH]
    pod: {memory: 3Gi, env_from: [kg-agent], env: {DEPTH: 7}, node_selector: {gpu: "yes"}}
"""
TOKEN = "t0ken-of-the-agent"


class Team:
    """A cluster, an instance whose runs are pods in it, and a project with a plan."""

    def __init__(self, cluster, instance, runner, project):
        self.cluster = cluster
        self.instance = instance
        self.runner = runner
        self.project = project

    def launch(self, *names, partition, pod=None):
        """Queue and launch a run of quiz@1.0's assets, as the UI and the daemon do. Returns the run's id."""
        keys = {dg.AssetKey(["quiz", "1.0", name]) for name in names}
        repository = ReconstructableRepository.for_module(
            "bench_assets.definitions", "defs", working_directory=str(self.project.folder)
        )
        code = repository.get_reconstructable_job("__ASSET_JOB")
        job = self.runner.definitions.get_repository_def().get_implicit_job_def_for_assets(list(keys))
        location = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("bench"), "__repository__")
        run = self.instance.create_run_for_job(
            job,
            asset_selection=frozenset(keys),
            tags={"dagster/partition": partition, **({"bench/pod": json.dumps(pod)} if pod else {})},
            job_code_origin=code.get_python_origin(),
            remote_job_origin=RemoteJobOrigin(location, "__ASSET_JOB"),
        )
        self.instance.run_coordinator.submit_run(SubmitRunContext(run, workspace=None))
        self.instance.launch_run(run.run_id, workspace=None)
        return run.run_id

    def job(self, run_id):
        return self.cluster.get("jobs", f"dagster-run-{run_id}")

    def pod(self, run_id):
        ((name,)) = [pod["metadata"]["name"] for pod in self.cluster.pods_of(f"dagster-run-{run_id}")]
        return self.cluster.running[name]

    def wait(self, run_id):
        """Wait for the run's end. Returns its status, and what its pod said."""
        running = self.pod(run_id)
        wait_until(lambda: running.process.poll() is not None, seconds=240)
        return self.instance.get_run_by_id(run_id).status, running.log.read_text(encoding="utf-8")

    @property
    def asked(self):
        path = self.project.folder.parent / "asked"
        return Counter(path.read_text(encoding="utf-8").splitlines()) if path.exists() else Counter()


def chart_settings(dagsters, *, bucket):
    """Return the `dagster.yaml` of our chart values, for this machine's database and bucket, and the password."""
    given, url = values(), parse_url(dagsters)
    given["global"]["dagsterHome"] = "/home/bench/dagster"
    given["postgresql"] |= {
        "postgresqlHost": url.host,
        "postgresqlUsername": url.username,
        "postgresqlDatabase": url.database,
        "service": {"port": url.port},
    }
    given["computeLogManager"]["config"]["s3ComputeLogManager"]["bucket"] = bucket
    settings = dagster_yaml(given)
    # In a cluster the image is the code location's own; here no code location is asked.
    settings["run_launcher"]["config"]["job_image"] = "registry.example.org/bench-assets:1"
    return settings, url.password


@pytest.fixture
def team(project, s3_endpoint, postgres_server, monkeypatch, tmp_path):
    project.benchmark(quiz(8), extra="timeout_sec: 60\n")
    project.agents(AGENTS)
    (project.folder / "deployment.yaml").write_text(DEPLOYMENT, encoding="utf-8")
    write_package(project.folder / "agent", COUNTING)
    for name in ("BENCH_DEPLOYMENT", "BENCH_STORAGE"):
        monkeypatch.delenv(name, raising=False)
    with (
        unless_opted_out("kubernetes"),
        new_database(postgres_server) as dagsters,
        new_database(postgres_server) as ours,
        running_cluster(tmp_path) as (cluster, kubeconfig),
    ):
        settings, password = chart_settings(dagsters, bucket=s3_endpoint.bucket)
        tool = {
            **s3_endpoint.environment,
            "BENCH_STORAGE": f"s3://{s3_endpoint.bucket}/{s3_endpoint.new_prefix()}",
            "BENCH_POSTGRES_URL": ours,
            "BENCH_PROJECT": str(project.folder),
        }
        agent = {"ASKED": str(tmp_path / "asked"), "SLOWLY": "3", "AGENT_TOKEN": TOKEN}
        for name, items in {
            "bench-dagster": {"postgresql-password": password},
            "bench-tool": tool,
            "kg-agent": agent,
            "bench-git": {"netrc": "machine git.example.org login bob password pw\n"},
        }.items():
            cluster.create("secrets", {"metadata": {"name": name}, "stringData": items})
        instance_map = {
            "metadata": {"name": "bench-dagster-instance"},
            "data": {"dagster.yaml": yaml.safe_dump(settings)},
        }
        cluster.create("configmaps", instance_map)
        home = project.folder / "dagster_home"
        outside = {"load_incluster_config": False, "kubeconfig_file": str(kubeconfig)}
        settings["run_launcher"]["config"] |= outside
        (home / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        for name, value in {**tool, "DAGSTER_PG_PASSWORD": password}.items():
            monkeypatch.setenv(name, value)
        project.variables |= {**agent, "DEPTH": "7", "BENCH_POSTGRES_URL": ours}
        with dg.DagsterInstance.from_config(str(home)) as instance:
            instance.add_dynamic_partitions("candidates", ["kg@one"])
            runner = Runner(project, instance, tool["BENCH_STORAGE"])
            runner.materialize("agent_environment", "plan", first="kg@one")
            shutil.rmtree(project.folder / "agent")
            yield Team(cluster, instance, runner, project)


def test_a_pod_that_is_deleted_in_the_middle_is_taken_up_by_the_next_one(team, s3_endpoint, tmp_path):
    first = team.launch("answers", "scores", partition="kg@one|000", pod={"cpu": "250m"})
    _looks_right(team, first)
    wait_until(lambda: sum(team.asked.values()) >= 2, seconds=240)
    name = team.cluster.pods_of(f"dagster-run-{first}")[0]["metadata"]["name"]
    team.cluster.delete("pods", name)
    status, said = _ended(team, first, name)
    assert status in (dg.DagsterRunStatus.CANCELED, dg.DagsterRunStatus.FAILURE), said
    settled_by_then = sum(team.asked.values())
    assert settled_by_then < 4

    second = team.launch("answers", "scores", partition="kg@one|000")
    status, said = team.wait(second)
    assert status == dg.DagsterRunStatus.SUCCESS, said
    latest = team.runner.latest("answers", "kg@one|000")
    assert latest["executions"] == latest["answered"] == 4
    assert latest["reused"] >= 1
    assert latest["reused"] + latest["asked"] == 4
    assert max(team.asked.values()) <= 2, "only what was in flight is asked again"
    assert team.cluster.get("jobs", f"dagster-run-{second}")["status"]["succeeded"] == 1
    assert len(list((tmp_path / "claim-bench-cache").glob("environments/*/*/venv"))) >= 1, "the claim keeps it"
    logs = team.instance.compute_log_manager
    listed = s3_endpoint.client().list_objects_v2(Bucket=s3_endpoint.bucket, Prefix=f"dagster-logs/storage/{second}/")
    assert listed["KeyCount"] >= 1, logs
    for run_id in (first, second):
        left = json.dumps([team.job(run_id), dict(team.instance.get_run_by_id(run_id).tags)])
        assert TOKEN not in left
        assert TOKEN not in team.instance.get_run_by_id(run_id).run_config.__repr__()
    assert TOKEN not in said


def test_a_pod_that_is_killed_fails_its_run_by_the_daemons_monitoring_and_the_next_one_goes_on(team, tmp_path):
    first = team.launch("answers", "scores", partition="kg@one|000")
    wait_until(lambda: sum(team.asked.values()) == 2, seconds=240)
    (tmp_path / "asked.hold").touch()
    store = team.runner.workspace.store
    wait_until(
        lambda: [key for key in store.list("checkpoints/") if key.endswith(".jsonl") and "/000" in key], seconds=60
    )
    os.killpg(team.pod(first).process.pid, signal.SIGKILL)
    wait_until(lambda: "failed" in team.job(first)["status"], seconds=30)
    record = team.instance.get_run_record_by_id(first)
    assert record.dagster_run.status == dg.DagsterRunStatus.STARTED, "nobody told Dagster"
    monitor_started_run(team.instance, None, record, logging.getLogger("monitoring"))
    assert team.instance.get_run_by_id(first).status == dg.DagsterRunStatus.FAILURE

    (tmp_path / "asked.hold").unlink()
    second = team.launch("answers", "scores", partition="kg@one|000")
    status, said = team.wait(second)
    assert status == dg.DagsterRunStatus.SUCCESS, said
    latest = team.runner.latest("answers", "kg@one|000")
    assert (latest["answered"], latest["reused"], latest["asked"]) == (4, 2, 2)
    assert set(team.asked.values()) == {1}


def _ended(team, run_id, pod):
    running = team.cluster.running[pod]
    assert running.process.poll() is not None
    wait_until(lambda: team.instance.get_run_by_id(run_id).is_finished, seconds=90)
    return team.instance.get_run_by_id(run_id).status, running.log.read_text(encoding="utf-8")


def _looks_right(team, run_id):
    job = team.job(run_id)
    assert faults({"kind": "Job", **job, "status": None}) == []
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["image"] == "registry.example.org/bench-assets:1"
    assert (spec["securityContext"]["runAsUser"], spec["terminationGracePeriodSeconds"]) == (1000, 120)
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert job["spec"]["ttlSecondsAfterFinished"] == 86400
    (password,) = [item for item in container["env"] if item["name"] == "DAGSTER_PG_PASSWORD"]
    assert password["valueFrom"]["secretKeyRef"] == {"name": "bench-dagster", "key": "postgresql-password"}
    assert container["resources"] == {"requests": {"cpu": "250m", "memory": "3Gi"}, "limits": {"memory": "3Gi"}}
    secrets = [item["secretRef"]["name"] for item in container["envFrom"] if "secretRef" in item]
    assert secrets == ["bench-tool", "kg-agent"]
    assert spec["nodeSelector"] == {"gpu": "yes"}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert mounts["/home/bench/.netrc"] == "bench-netrc"
    assert mounts["/cache"] == "bench-cache"
    variables = team.pod(run_id).variables
    assert (variables["DEPTH"], variables["AGENT_TOKEN"]) == ("7", TOKEN)
    assert team.instance.get_run_by_id(run_id).tags["bench/agent"] == "kg"
