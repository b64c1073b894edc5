"""What of the definitions depends on where they run."""

import warnings
from collections.abc import Sequence

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.deployment import Deployment
from bench_assets.defs.automation import carry_on_sensors
from bench_assets.defs.notifications import notification_sensors
from bench_assets.defs.sensors import new_git_tags_sensor


def deployed(assets: Sequence[dg.AssetsDefinition], deployment: Deployment) -> list[dg.AssetsDefinition]:
    """Return the assets, with as many shards in one run as the deployment wants."""
    if deployment.max_shards_per_run is None:
        return list(assets)
    with warnings.catch_warnings():
        # Backfill policies are in beta in Dagster 1.13; `dagster` is pinned below 1.14.
        warnings.simplefilter("ignore", dg.BetaWarning)
        policy = dg.BackfillPolicy.multi_run(max_partitions_per_run=deployment.max_shards_per_run)
    return [asset.with_attributes(backfill_policy=policy) if _has_shards(asset) else asset for asset in assets]


def sensors(
    benchmarks: Sequence[Benchmark], assets: Sequence[dg.AssetsDefinition], deployment: Deployment
) -> list[dg.SensorDefinition]:
    """Return what starts runs, and tells of them, without a person."""
    return [
        new_git_tags_sensor(benchmarks, deployment=deployment),
        *carry_on_sensors(benchmarks, deployment=deployment),
        *notification_sensors(assets, deployment=deployment),
    ]


def _has_shards(asset: dg.AssetsDefinition) -> bool:
    return isinstance(asset.partitions_def, dg.MultiPartitionsDefinition)
