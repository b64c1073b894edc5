"""The two dimensions, and what all our assets share."""

import re
from typing import Any

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark

candidates = dg.DynamicPartitionsDefinition(name="candidates")
"""One key a candidate: `agent@ref` or `agent@ref~variant`."""

OWNERS = ["team:evaluation"]


def grid(benchmark: Benchmark) -> dg.MultiPartitionsDefinition:
    """Return candidate × shard. A key reads `agent@ref|003`: Dagster joins by the dimensions' names."""
    shards = dg.StaticPartitionsDefinition(list(benchmark.spec.shard_names))
    return dg.MultiPartitionsDefinition({"candidate": candidates, "shard": shards})


def asset_key(benchmark: Benchmark, name: str) -> dg.AssetKey:
    """Return `<name>/<version>/<asset>`."""
    return dg.AssetKey([benchmark.spec.name, benchmark.spec.version, name])


def shared(benchmark: Benchmark, name: str, *, kinds: set[str]) -> dict[str, Any]:
    """Return the arguments of `@asset` that all assets of a benchmark have alike."""
    return {
        "key": asset_key(benchmark, name),
        "group_name": re.sub(r"[^A-Za-z0-9_]", "_", f"{benchmark.spec.name}_{benchmark.spec.version}"),
        "backfill_policy": dg.BackfillPolicy.single_run(),
        "io_manager_key": "records",
        "owners": OWNERS,
        "kinds": kinds,
    }


def input_from(benchmark: Benchmark, name: str) -> dg.AssetIn:
    """Return the input that reads another asset of the same benchmark."""
    return dg.AssetIn(key=asset_key(benchmark, name))


def split(partition: str) -> tuple[str, str]:
    """Return the candidate and the shard of a grid's key."""
    candidate, _, shard = partition.partition("|")
    return candidate, shard
