"""What Dagster's chart makes of our values: the `dagster.yaml` in its ConfigMap.

The chart itself is no part of this repository. Its templates only rename these sections and put in the release's
names; `docs/deploy.md` says with which versions of chart and Helm that was compared.
"""

import re
from pathlib import Path
from typing import Any

import yaml

VALUES = Path(__file__).parents[2] / "deploy" / "values.yaml"
RELEASE = "bench"
"""The name in the guide's `helm upgrade --install`."""
OPAQUE = {"run_k8s_config", "value", "config"}
"""Sections that the chart hands on as they are, or whose names Dagster takes in either spelling."""


def values() -> dict[str, Any]:
    """Return `deploy/values.yaml`."""
    found: dict[str, Any] = yaml.safe_load(VALUES.read_text(encoding="utf-8"))
    return found


def dagster_yaml(given: dict[str, Any]) -> dict[str, Any]:
    """Return the instance's settings that the chart writes for these values, without the chart's own defaults."""
    launcher = _renamed(given["runLauncher"]["config"]["k8sRunLauncher"])
    queue = given["dagsterDaemon"]["runCoordinator"]["config"]["customRunCoordinator"]
    logs = _renamed(given["computeLogManager"]["config"]["s3ComputeLogManager"])
    database = given["postgresql"]
    storage = {
        "username": database["postgresqlUsername"],
        "password": {"env": "DAGSTER_PG_PASSWORD"},
        "hostname": database["postgresqlHost"],
        "db_name": database["postgresqlDatabase"],
        "port": database.get("service", {}).get("port", 5432),
        "scheme": database["postgresqlScheme"],
    }
    names = {
        "job_namespace": RELEASE,
        "load_incluster_config": True,
        "service_account_name": given["global"]["serviceAccountName"],
        "dagster_home": given["global"].get("dagsterHome", "/opt/dagster/dagster_home"),
        "instance_config_map": f"{RELEASE}-dagster-instance",
        "postgres_password_secret": given["global"]["postgresqlSecretName"],
    }
    return {
        "storage": {"postgres": {"postgres_db": storage}},
        "run_launcher": {"module": "dagster_k8s", "class": "K8sRunLauncher", "config": {**names, **launcher}},
        "run_coordinator": {"module": queue["module"], "class": queue["class"], "config": queue["config"]},
        "compute_logs": {
            "module": "dagster_aws.s3.compute_log_manager",
            "class": "S3ComputeLogManager",
            "config": {"verify": True, **logs},
        },
        "run_monitoring": _renamed(given["dagsterDaemon"]["runMonitoring"]),
        "run_retries": {
            # The chart leaves a maximum of 0 out: it is Dagster's default.
            name: value
            for name, value in _renamed(given["dagsterDaemon"]["runRetries"]).items()
            if value
        },
        "concurrency": {name: _renamed(part) for name, part in given["concurrency"].items() if name != "enabled"},
        "telemetry": given["telemetry"],
    }


def _renamed(given: Any) -> Any:
    """Return a section with the names of `dagster.yaml`: `maxConcurrentRuns` is `max_concurrent_runs`."""
    if isinstance(given, list):
        return [_renamed(item) for item in given]
    if not isinstance(given, dict):
        return given
    found = {}
    for name, value in given.items():
        snake = re.sub(r"(?<!^)([A-Z])", lambda match: f"_{match[1].lower()}", name)
        inner = value if snake in OPAQUE else _renamed(value)
        if snake == "run_k8s_config":
            inner = {re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", key): part for key, part in value.items()}
        found[snake] = inner
    return found
