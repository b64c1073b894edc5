"""`deploy/values.yaml`: Dagster's opinion of what the chart makes of it, and the chart's own, where there is one."""

import importlib
import os
from pathlib import Path

import pytest
import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.instance.config import dagster_instance_config
from dagster_aws.s3.compute_log_manager import S3ComputeLogManager
from dagster_k8s import K8sRunLauncher

from bench_assets.instance.coordinator import AgentRunCoordinator
from tests.kubernetes.chart import RELEASE, dagster_yaml, values
from tests.kubernetes.schema import KINDS, faults

CHART = "BENCH_TESTS_CHART"
"""Names the variable with the folder of Dagster's chart, for the one test that renders it."""
CLASSES = {
    "run_launcher": K8sRunLauncher,
    "run_coordinator": AgentRunCoordinator,
    "compute_logs": S3ComputeLogManager,
}


def refused(settings):
    """Return what Dagster's classes say of their sections."""
    found = []
    for section, cls in CLASSES.items():
        result = process_config(resolve_to_config_type(cls.config_type()), settings[section]["config"])
        found += [error.message for error in result.errors or ()]
    return found


def test_dagster_takes_every_section_that_the_values_give_it(tmp_path):
    settings = dagster_yaml(values())
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    dagster_instance_config(str(tmp_path))
    assert refused(settings) == []
    for section, cls in CLASSES.items():
        module = importlib.import_module(settings[section]["module"])
        assert getattr(module, settings[section]["class"]) is cls


def test_a_misspelt_value_is_found():
    given = values()
    given["runLauncher"]["config"]["k8sRunLauncher"]["imagePullPolcy"] = "Always"
    (message,) = refused(dagster_yaml(given))
    assert 'unexpected config entry "image_pull_polcy"' in message


def test_a_cluster_has_the_same_queue_as_one_machine():
    cluster = dagster_yaml(values())
    machine = yaml.safe_load((Path(__file__).parents[2] / "deploy" / "dagster.yaml").read_text(encoding="utf-8"))
    for name in ("module", "class"):
        assert cluster["run_coordinator"][name] == machine["run_coordinator"][name]
    # Dagster refuses limits in both places, and says so only when it starts.
    assert not cluster["run_coordinator"]["config"]
    assert "config" not in machine["run_coordinator"]
    for given in (cluster["concurrency"], machine["concurrency"]):
        (limit,) = given["runs"]["tag_concurrency_limits"]
        assert (limit["key"], limit["value"]) == ("bench/agent", {"applyLimitPerUniqueValue": True})
        assert given["pools"]["granularity"] == "run"


def test_nobody_but_root_needs_a_low_port():
    given = values()["dagsterWebserver"]
    assert given["service"]["port"] == given["readinessProbe"]["httpGet"]["port"] > 1024


@pytest.mark.skipif(CHART not in os.environ, reason=f"Dagster's chart is no part of this repository; {CHART} names it")
def test_the_real_chart_takes_the_values_and_makes_of_them_what_the_other_tests_take(tmp_path):
    helm = pytest.importorskip("helm_python", reason="rendering needs Helm's library: install `helm-python-sdk`")
    with helm.Chart.load(os.environ[CHART]) as chart:
        rendered = chart.render(values(), name=RELEASE, namespace=RELEASE)
    manifests = [document for text in rendered.values() for document in _documents(text)]
    assert [fault for manifest in manifests if manifest["kind"] in KINDS for fault in faults(manifest)] == []
    (instance,) = [one for one in manifests if one["metadata"]["name"] == f"{RELEASE}-dagster-instance"]
    made = yaml.safe_load(instance["data"]["dagster.yaml"])
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")
    dagster_instance_config(str(tmp_path))
    ours = dagster_yaml(values())
    storage = ours.pop("storage")["postgres"]["postgres_db"]
    assert made["run_storage"]["config"]["postgres_db"] == storage | {"params": {}}
    for section, expected in ours.items():
        chosen = {name: made[section].get(name) for name in expected}
        assert chosen == expected, section
    (webserver,) = [one for one in manifests if one["metadata"]["name"] == f"{RELEASE}-dagster-webserver" and
                    one["kind"] == "Deployment"]  # fmt: skip
    (container,) = webserver["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.org/bench-assets:1"
    assert [port["containerPort"] for port in container["ports"]] == [3000]


def _documents(text):
    if "apiVersion" not in text:  # notes for people
        return []
    return [document for document in yaml.safe_load_all(text) if document]
