"""`agent_environment`: an agent's version, installed."""

import dagster as dg
from pydantic import Field

from bench_assets.defs.partitions import asset, candidates
from bench_assets.io_managers.records import Outputs, PartitionOutput, PartitionStream
from bench_assets.stages.workspace import Workspace


class EnvironmentConfig(dg.Config):
    """How the environment is made."""

    invalidate: bool = Field(default=False, description="Build anew even if the environment is in the cache.")
    worker_source: str | None = Field(
        default=None, description="Install the worker from here (a path, git, a requirement) instead of our own."
    )


@asset(
    partitions_def=candidates,
    group_name="agents",
    kinds={"python", "uv"},
    description=(
        "A candidate's code and everything it needs, installed into an environment of its own. "
        "Built once for the same content; a moved branch is new content. "
        "The partition is `agent@ref` or `agent@ref~variant`, with an agent of `agents.yaml`."
    ),
)
def agent_environment(
    context: dg.AssetExecutionContext, config: EnvironmentConfig, workspace: dg.ResourceParam[Workspace]
) -> PartitionStream:
    """Build or find each candidate's environment."""
    return PartitionStream(_environments(context, config, workspace), context)


def _environments(context: dg.AssetExecutionContext, config: EnvironmentConfig, workspace: Workspace) -> Outputs:
    from bench_assets.stages.environment import build_environment

    for candidate in context.partition_keys:
        built = build_environment(
            workspace, candidate, invalidate=config.invalidate, worker_source=config.worker_source
        )
        record = built.record
        metadata = {
            "source": record.source.text,
            "commit": record.source.commit or "not in git",
            "dirty": "yes" if record.source.dirty else "no",
            "fingerprint": record.fingerprint,
            "reused": built.reused,
            "seconds": round(built.seconds, 3),
            "packages": record.package_count,
            "python": record.python,
        }
        yield PartitionOutput(candidate, record, metadata=metadata.copy)
