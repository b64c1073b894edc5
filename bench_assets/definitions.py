"""The Dagster code location: every benchmark of the project, wired. Decides nothing."""

# ruff: noqa: E402 – what comes after Dagster is imported after the line that must directly follow it.
import gc
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

gc.freeze()  # Dagster's 110,000 objects live as long as the process; looking through them costs a sixth of loading it

from bench_assets.catalog.benchmarks import Benchmark, list_benchmarks
from bench_assets.catalog.deployment import load_deployment
from bench_assets.catalog.project import Project
from bench_assets.contracts.deployment import Deployment
from bench_assets.defs.agent_environment import agent_environment
from bench_assets.defs.answers import answers_asset
from bench_assets.defs.comparison import comparison_asset
from bench_assets.defs.deployed import deployed, sensors
from bench_assets.defs.leaderboard import leaderboard_asset
from bench_assets.defs.plan import plan_asset
from bench_assets.defs.result_rows import result_rows_asset
from bench_assets.defs.scores import scores_asset
from bench_assets.defs.summary import summary_asset
from bench_assets.io_managers.records import records_io_manager
from bench_assets.resources.workspace import workspace_resource
from bench_assets.stages.workspace import Workspace

RUN = (plan_asset, answers_asset, scores_asset, summary_asset)
RESULTS = (result_rows_asset, comparison_asset, leaderboard_asset)


def build_definitions(
    benchmarks: Sequence[Benchmark], *, workspace: Workspace | None = None, deployment: Deployment | None = None
) -> dg.Definitions:
    """Return the definitions for some benchmarks. `workspace` None opens the project of each process."""
    assets = [agent_environment, *(factory(benchmark) for benchmark in benchmarks for factory in RUN + RESULTS)]
    deployment = deployment or Deployment()
    return dg.Definitions(
        assets=deployed(assets, deployment),
        resources={
            "workspace": workspace or workspace_resource,
            "records": records_io_manager,
        },
        sensors=sensors(benchmarks, assets, deployment),
        executor=dg.in_process_executor,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions of the project that the process runs in; a broken benchmark is left out and named."""
    project = Project.find(os.environ, cwd=Path.cwd())
    benchmarks, faults = list_benchmarks(project.benchmarks)
    for fault in faults:
        warnings.warn(f"left out: {fault}", stacklevel=1)
    return build_definitions(benchmarks, deployment=load_deployment(project.deployment))
