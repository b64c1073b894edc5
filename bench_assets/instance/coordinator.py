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
    candidate = (tags.get(PARTITION) or tags.get(RANGE_START) or "").partition("|")[0]
    added: dict[str, str] = {}
    layers = [load_deployment(project.deployment).pod]
    try:
        key = CandidateKey.parse(candidate)
    except InvalidAgent:  # a run about no candidate, such as the leaderboard
        key = None
    if key is not None:
        added |= {"bench/agent": key.agent, "bench/candidate": candidate}
        agent = load_agents(project.agents).get(key.agent)
        if agent is not None and agent.pod is not None:
            layers.append(agent.pod)
    if POD_OF_A_RUN in tags:
        layers.append(read_run_tag(tags[POD_OF_A_RUN]))
    config = kubernetes_config(compose(layers))
    given: dict[str, Any] = json.loads(tags.get(KUBERNETES) or "{}")
    if config:
        added[KUBERNETES] = json.dumps(laid_over(config, given), sort_keys=True)
    return {name: value for name, value in added.items() if tags.get(name) != value}
