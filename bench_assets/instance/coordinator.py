"""The queue of a team's deployment: knows of each run which agent it is about, and what that agent's pod needs.

In `dagster.yaml`::

    run_coordinator:
      module: bench_assets.instance.coordinator
      class: AgentRunCoordinator

A run reaches the queue from the UI, a backfill, a sensor or an automation condition; only here they all pass. Dagster's
webserver and daemon open it, so both need bench-assets and the project's `agents.yaml`.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dagster import DagsterRun
from dagster._core.run_coordinator import SubmitRunContext
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator

from bench_assets.catalog.agents import load_agents
from bench_assets.catalog.deployment import load_deployment
from bench_assets.catalog.project import Project
from bench_assets.contracts.agent import CandidateKey
from bench_assets.errors import InvalidAgent
from bench_assets.pods.compose import compose, kubernetes_config, laid_over, read_run_tag

PARTITION = "dagster/partition"
RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
POD_OF_A_RUN = "bench/pod"
KUBERNETES = "dagster-k8s/config"


class AgentRunCoordinator(QueuedRunCoordinator):
    """Dagster's own queue, which also tags each run with its agent, its candidate and its pod.

    With `bench/agent` on every run, the queue's `tag_concurrency_limits` can say how many candidates of one agent run
    at once. Its configuration is that of `QueuedRunCoordinator`.
    """

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Tag and enqueue a run. Raises InvalidInput when the settings of its pod cannot be used."""
        run = context.dagster_run
        tags = tags_of(run.tags, project=Project.find(os.environ, cwd=Path.cwd()))
        if tags:
            self._instance.add_run_tags(run.run_id, tags)
        return super().submit_run(context)


def tags_of(tags: Mapping[str, str], *, project: Project) -> dict[str, str]:
    """Return what is to be added to a run's tags. Raises InvalidInput for settings that cannot be used."""
    about = list(_candidates(tags))
    names = list(dict.fromkeys(CandidateKey.parse(candidate).agent for candidate in about))
    agents = load_agents(project.agents) if names else {}
    pods = [agents[name].pod for name in names if name in agents]
    layers = [load_deployment(project.deployment).pod, *(pod for pod in pods if pod is not None)]
    if POD_OF_A_RUN in tags:
        layers.append(read_run_tag(tags[POD_OF_A_RUN]))
    config = kubernetes_config(compose(layers))
    added = {"bench/agent": names[0]} if len(names) == 1 else {}
    added |= {"bench/candidate": about[0]} if len(about) == 1 else {}
    if config:
        given: dict[str, Any] = json.loads(tags.get(KUBERNETES) or "{}")
        added[KUBERNETES] = json.dumps(laid_over(config, given), sort_keys=True)
    return {name: value for name, value in added.items() if tags.get(name) != value}


def _candidates(tags: Mapping[str, str]) -> dict[str, None]:
    """Return the candidates that a run's tags name: one, or the first and last of a range; none for other runs."""
    found: dict[str, None] = {}
    for name in (PARTITION, RANGE_START, RANGE_END):
        candidate = tags.get(name, "").partition("|")[0]
        with suppress(InvalidAgent):
            CandidateKey.parse(candidate)
            found[candidate] = None
    return found
