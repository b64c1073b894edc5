"""Which record each asset stores, and under which key."""

from collections.abc import Callable
from typing import Any

import dagster as dg

from bench_assets.contracts.assessment import Assessment
from bench_assets.contracts.base import Record
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.contracts.leaderboard import Leaderboard
from bench_assets.contracts.plan import Plan
from bench_assets.contracts.run import FinishedRun
from bench_assets.stages.records import AnswerFile, RecordFile, ScoreFile, record_key
from bench_assets.storage.objects import ObjectStore

ONE: dict[str, type[Record]] = {
    "agent_environment": EnvironmentRecord,
    "plan": Plan,
    "summary": FinishedRun,
    "comparison": Assessment,
    "leaderboard": Leaderboard,
}
"""Assets that store one record a partition, or one at all, in a `.json`."""

MANY: dict[str, Callable[[ObjectStore, str], RecordFile[Any]]] = {"answers": AnswerFile, "scores": ScoreFile}
"""Assets that store many records a partition, in a `.jsonl`."""


def object_key(asset_key: dg.AssetKey, partition: str | None) -> str:
    """Return where an asset's partition is stored, relative to the storage's root; None is the whole of an asset."""
    if partition is None:
        return "/".join(asset_key.path) + ".json"
    folder = "environments" if asset_key.path == ["agent_environment"] else "/".join(asset_key.path)
    return record_key(folder, partition=partition, suffix=".jsonl" if asset_key.path[-1] in MANY else ".json")
