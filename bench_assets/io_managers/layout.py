"""Which record each asset stores, and under which key."""

from typing import NamedTuple

import dagster as dg

from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.base import Record
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.contracts.plan import Plan
from bench_assets.contracts.run import FinishedRun
from bench_assets.contracts.score import ScoreRecord
from bench_assets.stages.records import record_key


class Kind(NamedTuple):
    """How an asset's partitions are stored."""

    record: type[Record]
    many: bool
    """True for a `.jsonl` of many records a partition, False for one record in a `.json`."""


KINDS = {
    "agent_environment": Kind(EnvironmentRecord, many=False),
    "plan": Kind(Plan, many=False),
    "answers": Kind(AnswerRecord, many=True),
    "scores": Kind(ScoreRecord, many=True),
    "summary": Kind(FinishedRun, many=False),
}


def kind_of(asset_key: dg.AssetKey) -> Kind:
    """Return how an asset is stored."""
    return KINDS[asset_key.path[-1]]


def object_key(asset_key: dg.AssetKey, partition: str) -> str:
    """Return where an asset's partition is stored, relative to the storage's root."""
    folder = "environments" if asset_key.path == ["agent_environment"] else "/".join(asset_key.path)
    return record_key(folder, partition=partition, suffix=".jsonl" if kind_of(asset_key).many else ".json")
