"""The files of `deploy/`: they fit Kubernetes' schema, and each other."""

import json
import re
from pathlib import Path

import pytest
import yaml
from dagster_k8s.job import UserDefinedDagsterK8sConfig
from dagster_k8s.models import k8s_snake_case_dict
from kubernetes.client import V1Volume, V1VolumeMount

from bench_assets.catalog.deployment import load_deployment
from bench_assets.contracts.deployment import Deployment
from bench_assets.contracts.pod import PodSettings
from bench_assets.pods.compose import kubernetes_config
from tests.kubernetes.schema import faults

DEPLOY = Path(__file__).parents[2] / "deploy"


def documents(name):
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


@pytest.fixture
def values():
    (found,) = documents("values.yaml")
    return found


def test_the_schema_sees_what_a_cluster_would_refuse():
    claim = documents("cache.yaml")[0]
    assert faults({**claim, "spec": {**claim["spec"], "img": "x"}}) == [
        "PersistentVolumeClaim.spec.img is not a field of V1PersistentVolumeClaimSpec"
    ]
    assert faults({"kind": "Job", "metadata": {"name": "a"}, "spec": {"backoffLimit": "1"}}) == [
        "Job.spec.backoffLimit is no int", "Job.spec.template is missing",
    ]  # fmt: skip
    assert faults({"kind": "Secret", "metadata": {"name": "No_Name"}}) == ["Secret.metadata.name `No_Name` is no name"]


@pytest.mark.parametrize("name", ["secrets.yaml", "cache.yaml"])
def test_each_manifest_fits_the_schema(name):
    assert [faults(document) for document in documents(name)] == [[]] * len(documents(name))


def test_every_secret_and_claim_that_is_named_is_in_the_examples(values):
    there = {document["metadata"]["name"] for name in ("secrets.yaml", "cache.yaml") for document in documents(name)}
    pod = load_deployment(DEPLOY / "deployment.yaml").pod
    named = {*pod.env_from, pod.netrc_secret, pod.cache_claim, values["global"]["postgresqlSecretName"]}
    for part in ("dagsterWebserver", "dagsterDaemon"):
        named |= {item["name"] for item in values[part]["envSecrets"]}
    assert named <= there


def test_the_netrc_has_the_item_that_is_mounted():
    secrets = {document["metadata"]["name"]: document["stringData"] for document in documents("secrets.yaml")}
    assert secrets["bench-git"]["netrc"].startswith("machine ")
    assert "postgresql-password" in secrets["bench-dagster"]


def test_all_of_dagster_runs_our_image(values):
    images = [values[part]["image"] for part in ("dagsterWebserver", "dagsterDaemon")]
    images += [deployment["image"] for deployment in values["dagster-user-deployments"]["deployments"]]
    assert len({json.dumps(image) for image in images}) == 1


def test_the_code_location_looks_at_repositories_with_the_credentials_that_a_runs_pod_has(values):
    (location,) = values["dagster-user-deployments"]["deployments"]
    composed = kubernetes_config(load_deployment(DEPLOY / "deployment.yaml").pod)
    (theirs,) = [one for one in composed["pod_spec_config"]["volumes"] if one["name"] == "bench-netrc"]
    (ours,) = location["volumes"]
    assert k8s_snake_case_dict(V1Volume, ours) == theirs
    (mount,) = [one for one in composed["container_config"]["volume_mounts"] if one["name"] == "bench-netrc"]
    assert k8s_snake_case_dict(V1VolumeMount, location["volumeMounts"][0]) == mount
    assert location["podSecurityContext"]["fsGroup"] == 1000, "who reads it is in that group"


def test_dagster_takes_the_pods_of_the_values(values):
    config = values["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]
    snake = {re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name): value for name, value in config.items()}
    read = UserDefinedDagsterK8sConfig.from_dict(snake)
    assert read.pod_spec_config["security_context"]["run_as_non_root"] is True
    assert read.job_spec_config["ttl_seconds_after_finished"] == 86400


def test_the_image_is_built_of_files_that_are_there_and_holds_no_secret():
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    copied = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY") and "--from" not in line]
    for source in (path for line in copied for path in line if not path.startswith("--")):
        assert (DEPLOY.parent / source).exists(), source
    assert "USER 1000:1000" in text
    assert not re.search(r"password|secret|token", text, re.IGNORECASE)


def test_what_the_guide_names_is_there():
    guide = (DEPLOY.parent / "docs" / "deploy.md").read_text(encoding="utf-8")
    for path in re.findall(r"\]\(\.\./(deploy/[\w./-]+)\)|-f (deploy/[\w./-]+)", guide):
        assert (DEPLOY.parent / "".join(path)).is_file(), path
    assert re.search(r"^team:", (DEPLOY.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    keys = set(Deployment.model_fields) | set(PodSettings.model_fields) - {"home"}
    assert [key for key in sorted(keys) if f"`{key}`" not in guide] == []
