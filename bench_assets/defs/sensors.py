"""`new_git_tags`: plans for versions of watched agents that nobody has asked about yet."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from bench_assets.catalog.agents import load_agents
from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.deployment import Deployment
from bench_assets.defs.partitions import asset_key, candidates
from bench_assets.resources.failures import as_failures
from bench_assets.stages.workspace import Workspace

if TYPE_CHECKING:
    from bench_assets.watching.news import Found


def new_git_tags_sensor(benchmarks: Sequence[Benchmark], *, deployment: Deployment) -> dg.SensorDefinition:
    """Return the sensor. It is on by default, and does nothing unless an agent of `agents.yaml` has a `watch:`."""
    by_id = {benchmark.spec.id: benchmark for benchmark in benchmarks}
    tags = {"dagster/priority": str(deployment.automatic_priority), "bench/started_by": "watch"}
    stage_one = [dg.AssetKey("agent_environment"), *(asset_key(benchmark, "plan") for benchmark in benchmarks)]

    @dg.sensor(
        name="new_git_tags",
        target=dg.AssetSelection.assets(*stage_one),
        minimum_interval_seconds=deployment.watch_interval_sec,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Looks at the git repository of each agent with a `watch:` in agents.yaml. A new or moved tag, or a "
            "branch's new commit, becomes a candidate with an environment and a plan; nothing is asked or paid for. "
            "Emptying the cursor begins anew: the newest version is requested once more."
        ),
    )
    def new_git_tags(
        context: dg.SensorEvaluationContext, workspace: dg.ResourceParam[Workspace]
    ) -> dg.SensorResult | dg.SkipReason:
        from bench_assets.watching.looking import look
        from bench_assets.watching.memory import Memory

        with as_failures():
            agents = load_agents(workspace.project.agents)
            memory = Memory.read(context.cursor)
        found = look(agents, memory=memory, benchmarks=by_id, base=workspace.project.folder, environ=workspace.environ)
        for line in found.faults:
            context.log.error(line)
        for line in [*found.notes, *(version.reason for version in found.found)]:
            context.log.info(line)
        requests = [_request(version, by_id, tags=tags) for version in found.found]
        quiet = [*found.faults, *found.notes] or ["nothing new"]
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else "\n".join(quiet),
            cursor=found.memory.text(),
            dynamic_partitions_requests=[candidates.build_add_request([version.candidate for version in found.found])],
        )

    return new_git_tags


def _request(version: "Found", benchmarks: dict[str, Benchmark], *, tags: dict[str, str]) -> dg.RunRequest:
    plans = [asset_key(benchmarks[name], "plan") for name in version.benchmarks]
    return dg.RunRequest(
        run_key=version.run_key,
        partition_key=version.candidate,
        asset_selection=[dg.AssetKey("agent_environment"), *plans],
        tags={
            **tags,
            "bench/agent": version.agent,
            "bench/candidate": version.candidate,
            "bench/commit": version.commit,
        },
    )
