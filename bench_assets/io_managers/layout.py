"""Which record each asset stores, and under which key."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import dagster as dg

from bench_assets.contracts.base import Record
from bench_assets.stages.records import AnswerFile, RecordFile, ScoreFile, record_key
from bench_assets.storage.objects import ObjectStore

ONE = {
    "agent_environment": "environment:EnvironmentRecord",
    "plan": "plan:Plan",
    "summary": "run:FinishedRun",
    "comparison": "assessment:Assessment",
    "leaderboard": "leaderboard:Leaderboard",
}
"""Assets that store one record a partition, or one at all, in a `.json`: its class under `contracts`.

By name, as the definitions load faster without the classes; `one_record` imports one.
"""

MANY: dict[str, Callable[[ObjectStore, str], RecordFile[Any]]] = {"answers": AnswerFile, "scores": ScoreFile}
"""Assets that store many records a partition, in a `.jsonl`."""


def one_record(asset: str) -> type[Record]:
    """Return the class of the record that an asset of `ONE` stores."""
    module, _, name = ONE[asset].partition(":")
    record: type[Record] = getattr(import_module(f"bench_assets.contracts.{module}"), name)
    return record


def object_key(asset_key: dg.AssetKey, partition: str | None) -> str:
    """Return where an asset's partition is stored, relative to the storage's root; None is the whole of an asset."""
    if partition is None:
        return "/".join(asset_key.path) + ".json"
    folder = "environments" if asset_key.path == ["agent_environment"] else "/".join(asset_key.path)
    return record_key(folder, partition=partition, suffix=".jsonl" if asset_key.path[-1] in MANY else ".json")
