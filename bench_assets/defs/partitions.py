"""The two dimensions, and what all our assets share."""

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.io_managers.records import MAY_BE_MISSING

candidates = dg.DynamicPartitionsDefinition(name="candidates")
"""One key a candidate: `agent@ref` or `agent@ref~variant`."""

OWNERS = ["team:evaluation"]

BY_HAND = {"plan"}
"""Assets that start something new, so only a person or a sensor makes them."""

SHARED = {"agent_environment"}
"""Assets that all benchmarks have in common."""


def grid(benchmark: Benchmark) -> dg.MultiPartitionsDefinition:
    """Return candidate × shard. A key reads `agent@ref|003`: Dagster joins by the dimensions' names."""
    shards = dg.StaticPartitionsDefinition(list(benchmark.spec.shard_names))
    return dg.MultiPartitionsDefinition({"candidate": candidates, "shard": shards})


def asset_key(benchmark: Benchmark, name: str) -> dg.AssetKey:
    """Return `<name>/<version>/<asset>`."""
    return dg.AssetKey([benchmark.spec.name, benchmark.spec.version, name])


def asset(**arguments: Any) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return `@dg.asset` with what all our assets have alike: one run a backfill, our IO manager, an owner."""

    def decorate(body: Callable[..., Any]) -> dg.AssetsDefinition:
        with warnings.catch_warnings():
            # Backfill policies are in beta in Dagster 1.13; `dagster` is pinned below 1.14.
            warnings.simplefilter("ignore", dg.BetaWarning)
            made: dg.AssetsDefinition = dg.asset(
                backfill_policy=dg.BackfillPolicy.single_run(), io_manager_key="records", owners=OWNERS, **arguments
            )(body)
        return made

    return decorate


def benchmark_asset(
    benchmark: Benchmark,
    name: str,
    *,
    inputs: Sequence[str],
    partitions: dg.PartitionsDefinition[Any] | None,
    kinds: set[str],
    description: str,
    **arguments: Any,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return the decorator of one of a benchmark's assets. `inputs` names assets of the same benchmark, or ours.

    With `partitions` None it is one asset over all candidates: it takes those that there are.
    """
    every: dict[str, Any] = {"partition_mapping": dg.AllPartitionMapping(), "metadata": {MAY_BE_MISSING: True}}
    more = {} if partitions else every
    return asset(
        key=asset_key(benchmark, name),
        ins={key: dg.AssetIn(key=key if key in SHARED else asset_key(benchmark, key), **more) for key in inputs},
        partitions_def=partitions,
        group_name=re.sub(r"[^A-Za-z0-9_]", "_", f"{benchmark.spec.name}_{benchmark.spec.version}"),
        kinds=kinds,
        description=description,
        automation_condition=_condition(benchmark, name, of_all=partitions is None),
        **arguments,
    )


Condition = dg.AutomationCondition[Any]


def _condition(benchmark: Benchmark, name: str, *, of_all: bool) -> Condition | None:
    if not benchmark.spec.automation or name in BY_HAND:
        return None
    return behind_all(asset_key(benchmark, "comparison")) if of_all else behind_a_plan()


def behind_a_plan() -> Condition:
    """Return when an asset is made by itself: something it reads is new, all of it is there, nobody is at it.

    What was requested or made since does not count, so a failure is not repeated until a person asks for it.
    """
    return (
        _since_made(dg.AutomationCondition.any_deps_updated()) & ~dg.AutomationCondition.any_deps_missing() & _idle()
    ).with_label("behind a new plan")


def behind_all(besides: dg.AssetKey) -> Condition:
    """Return the same for an asset over all candidates: it takes those there are, and looks at `besides` as well.

    It must not depend on `besides`, whose check would keep it from running.
    """
    news = dg.AutomationCondition.any_deps_updated() | dg.AutomationCondition.asset_matches(
        besides, dg.AutomationCondition.newly_updated()
    )
    return (_since_made(news) & _idle()).with_label("a candidate is new")


def _since_made(news: Condition) -> Condition:
    return news.since(dg.AutomationCondition.newly_requested() | dg.AutomationCondition.newly_updated())


def _idle() -> Condition:
    return ~dg.AutomationCondition.any_deps_in_progress() & ~dg.AutomationCondition.in_progress()


def split(partition: str) -> tuple[str, str]:
    """Return the candidate and the shard of a grid's key."""
    candidate, _, shard = partition.partition("|")
    return candidate, shard
