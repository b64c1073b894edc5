"""The pod of a run: layers, what wins, what is refused; and the tags that every run gets in a team's queue."""

import json

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.run_coordinator import SubmitRunContext
from dagster_k8s.job import UserDefinedDagsterK8sConfig

from bench_assets.catalog.deployment import load_deployment
from bench_assets.catalog.project import Project
from bench_assets.contracts.pod import PodSettings
from bench_assets.errors import InvalidAgent, InvalidInput
from bench_assets.instance.coordinator import tags_of
from bench_assets.pods.compose import compose, kubernetes_config

AGENTS = """\
agents:
  kg:
    source: git+https://git.example.org/kg.git@{ref}
    entry_point: agent
    pod:
      memory: 4Gi
      env_from: [kg-agent]
      env: {DEPTH: 3, TRACE: true}
      node_selector: {gpu: "yes"}
"""
DEPLOYMENT = """\
pod:
  image: registry.example.org/bench:7
  cpu: "1"
  memory: 1Gi
  env_from: [bench, tracing]
  netrc_secret: git
  cache_claim: bench-cache
  env: {DEPTH: "1"}
"""


RANGE = {"dagster/asset_partition_range_start": "kg@v1|000", "dagster/asset_partition_range_end": "kg@v1|003"}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "agents.yaml").write_text(AGENTS, encoding="utf-8")
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT, encoding="utf-8")
    return Project.find({}, cwd=tmp_path)


def pod_of(tags, project):
    return json.loads(tags_of(tags, project=project)["dagster-k8s/config"])


def variables(config):
    return {item["name"]: item.get("value") for item in config["container_config"]["env"]}


def test_a_run_wins_over_its_agent_and_the_agent_over_the_deployment(project):
    tags = {"dagster/partition": "kg@v1|003", "bench/pod": '{"cpu": "2", "env": {"DEPTH": "9"}}'}
    config = pod_of(tags, project)
    container, spec = config["container_config"], config["pod_spec_config"]
    assert container["image"] == "registry.example.org/bench:7"
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}
    assert [item["secret_ref"]["name"] for item in container["env_from"]] == ["bench", "tracing", "kg-agent"]
    assert variables(config) == {
        "BENCH_CACHE_DIR": "/cache", "UV_CACHE_DIR": "/cache/uv", "DEPTH": "9", "TRACE": "true",
    }  # fmt: skip
    assert spec["node_selector"] == {"gpu": "yes"}
    assert [volume["name"] for volume in spec["volumes"]] == ["bench-netrc", "bench-cache"]
    assert [mount["mount_path"] for mount in container["volume_mounts"]] == ["/home/bench/.netrc", "/cache"]


def test_dagster_takes_all_that_is_composed(project):
    everything = PodSettings.from_json(
        {
            "image": "x:1", "cpu": "500m", "memory": "1.5Gi", "disk": "10Gi", "service_account": "bench",
            "tolerations": [{"key": "gpu"}, {"key": "team", "value": "kg", "effect": "NoSchedule"}],
            "env_secrets": {"OPENAI_API_KEY": {"secret": "kg", "key": "openai"}}, "env": {"A": 1},
            "env_from": ["a"], "netrc_secret": "git", "cache_claim": "cache", "node_selector": {"disk": "ssd"},
        }
    )  # fmt: skip
    read = UserDefinedDagsterK8sConfig.from_dict(kubernetes_config(everything))
    assert read.container_config["env"][0]["value_from"]["secret_key_ref"] == {"name": "kg", "key": "openai"}
    assert read.pod_spec_config["tolerations"][0] == {"key": "gpu", "operator": "Exists"}


def test_every_run_is_tagged_with_its_agent_however_it_names_its_partition(project):
    for tags in ({"dagster/partition": "kg@v1"}, RANGE):
        added = tags_of(tags, project=project)
        assert (added["bench/agent"], added["bench/candidate"]) == ("kg", "kg@v1")
    assert "bench/agent" not in tags_of({}, project=project)


def test_a_run_about_several_agents_counts_for_none_and_has_the_secrets_of_its_ends(project):
    other = "  other: {source: ./x, entry_point: a, pod: {env_from: [other-agent]}}\n"
    project.agents.write_text(AGENTS + other, encoding="utf-8")
    added = tags_of({**RANGE, "dagster/asset_partition_range_end": "other@v1|003"}, project=project)
    assert set(added) == {"dagster-k8s/config"}
    names = [
        item["secret_ref"]["name"] for item in json.loads(added["dagster-k8s/config"])["container_config"]["env_from"]
    ]
    assert names == ["bench", "tracing", "kg-agent", "other-agent"]


def test_what_a_person_wrote_for_kubernetes_stays_on_top(project):
    own = {"container_config": {"image": "mine:1"}, "job_spec_config": {"ttl_seconds_after_finished": 60}}
    config = pod_of({"dagster/partition": "kg@v1", "dagster-k8s/config": json.dumps(own)}, project)
    assert config["container_config"]["image"] == "mine:1"
    assert config["container_config"]["resources"]["limits"] == {"memory": "4Gi"}
    assert config["job_spec_config"] == {"ttl_seconds_after_finished": 60}


def test_without_settings_a_run_gets_no_kubernetes_tag(tmp_path):
    added = tags_of({"dagster/partition": "kg@v1"}, project=Project.find({}, cwd=tmp_path))
    assert added == {"bench/agent": "kg", "bench/candidate": "kg@v1"}


def test_a_secret_among_the_variables_is_refused_without_its_value():
    with pytest.raises(InvalidInput, match=r"`OPENAI_API_KEY` looks like a secret.*env_from") as caught:
        compose([PodSettings(env={"OPENAI_API_KEY": "sk-12345"})])
    assert "sk-12345" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{cpu: lots}", "cpu"),
        ("{memory: 4 GB}", "memory"),
        ("{env_from: [Not_A_Name]}", "env_from"),
        ("{colour: blue}", "`agents.kg.pod.colour`|colour"),
        ("{node_selector: {a b: c}}", "node_selector"),
    ],
)
def test_what_a_cluster_would_refuse_is_refused_in_the_file_with_its_line(project, text, said):
    project.agents.write_text(
        f"agents:\n  kg:\n    source: ./x\n    entry_point: a\n    pod: {text}\n", encoding="utf-8"
    )
    with pytest.raises(InvalidAgent, match=rf"agents\.yaml:5: .*({said})"):
        tags_of({"dagster/partition": "kg@v1"}, project=project)


@pytest.mark.parametrize(("tag", "said"), [("{", "not JSON"), ('{"cpu": 1}', "cpu"), ("[]", "PodSettings")])
def test_a_bad_tag_of_a_run_is_refused_with_a_sentence(project, tag, said):
    with pytest.raises(InvalidInput, match=said):
        tags_of({"dagster/partition": "kg@v1", "bench/pod": tag}, project=project)


def test_a_fault_in_the_deployments_file_is_named_with_its_line(project):
    project.deployment.write_text("max_shards_per_run: 2\nshards: 3\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"deployment\.yaml:2: `shards`: is not a key that is known here"):
        load_deployment(project.deployment)


def test_the_variable_names_another_file_of_settings(tmp_path):
    (tmp_path / "cluster.yaml").write_text("max_shards_per_run: 1\n", encoding="utf-8")
    project = Project.find({"BENCH_DEPLOYMENT": "cluster.yaml"}, cwd=tmp_path)
    assert load_deployment(project.deployment).max_shards_per_run == 1


@dg.asset(partitions_def=dg.StaticPartitionsDefinition(["kg@v1"]))
def something() -> None:
    """Stand for an asset of a candidate."""


def test_a_run_in_the_queue_carries_the_tags(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project.folder)
    for name in ("BENCH_PROJECT", "BENCH_DEPLOYMENT"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text(
        "run_coordinator:\n  module: bench_assets.instance.coordinator\n  class: AgentRunCoordinator\n"
        "concurrency:\n  runs:\n    tag_concurrency_limits:\n"
        "      - {key: bench/agent, value: {applyLimitPerUniqueValue: true}, limit: 2}\n",
        encoding="utf-8",
    )
    job = dg.Definitions(assets=[something]).resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.from_config(str(home)) as instance:
        (limit,) = instance.get_concurrency_config().run_queue_config.tag_concurrency_limits
        assert (limit["key"], limit["limit"]) == ("bench/agent", 2)
        location = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("here"), "__repository__")
        origin = RemoteJobOrigin(location, job.name)
        run = instance.create_run_for_job(job, tags={"dagster/partition": "kg@v1"}, remote_job_origin=origin)
        queued = instance.run_coordinator.submit_run(SubmitRunContext(run, workspace=None))
        assert queued.status == dg.DagsterRunStatus.QUEUED
        assert instance.get_run_by_id(run.run_id).tags["bench/agent"] == "kg"
        assert "4Gi" in instance.get_run_by_id(run.run_id).tags["dagster-k8s/config"]
