"""Stores assets as records, in a local folder or on S3 alike."""

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from bench_assets.contracts.base import Record
from bench_assets.errors import ObjectMissing
from bench_assets.io_managers.layout import MANY, object_key, one_record
from bench_assets.resources.failures import as_failures
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.objects import ObjectStore

MAY_BE_MISSING = "allow_missing_partitions"
"""Metadata of an input that takes the partitions there are. Dagster's own IO managers call it so too."""


@dataclass(frozen=True)
class PartitionOutput:
    """One partition's value, on its way to the store."""

    partition: str | None
    """None for an asset without partitions."""
    value: Record | Iterable[Record]
    """One record, or a stream of them that is read once."""
    metadata: Callable[[], Mapping[str, Any]] = field(default=dict)
    """Called after the value is stored, when a stream's counts are known."""


Outputs = Generator[PartitionOutput, None, None]
"""What an asset's body makes: one output a partition."""


class PartitionStream:
    """The partitions of an asset's output, made one after the other while they are stored."""

    def __init__(self, outputs: Outputs, context: dg.AssetExecutionContext) -> None:
        """`outputs` is read once, and closed even when storing fails: it may hold workers or connections.

        `context` is that of the step which makes them; each partition's metadata goes there.
        """
        self.outputs = outputs
        self._context = context

    def report(self, partition: str | None, metadata: Mapping[str, Any]) -> None:
        """Put what is known of a stored partition on the materialization that Dagster logs when the step ends."""
        self._context.add_asset_metadata(metadata, partition_key=partition)


class RecordIOManager(dg.IOManager):
    """Takes a `PartitionStream`, gives back a dict from partition key to record.

    Each partition is stored as it arrives and, when there are several, reported at once: after a crash the finished
    ones stay materialized. Records of a `.jsonl` come back as a `RecordFile`, which reads them as they are needed.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def handle_output(self, context: dg.OutputContext, obj: PartitionStream) -> None:
        """Store each partition of `obj`."""
        several = context.has_asset_partitions and len(context.asset_partition_keys) > 1
        # A value's records are made while they are stored, so the errors of making them come out here as well.
        with as_failures(), closing(obj.outputs) as outputs:
            for output in outputs:
                key = object_key(context.asset_key, output.partition)
                self._store.write(key, _bytes(output.value))
                metadata = {**output.metadata(), "path": dg.MetadataValue.path(self._store.url(key))}
                obj.report(output.partition, metadata)
                if several:
                    # Yielded instead, it would be logged after the last partition only.
                    context.log_event(
                        dg.AssetMaterialization(context.asset_key, partition=output.partition, metadata=metadata)
                    )

    def load_input(self, context: dg.InputContext) -> dict[str, Any]:
        """Return the upstream partitions. A missing one is a failure that names it and says how to make it.

        Unless the input's metadata has `allow_missing_partitions`: then it is left out.
        """
        name = context.asset_key.path[-1]
        keys = {str(key): object_key(context.asset_key, str(key)) for key in sorted(context.asset_partition_keys)}
        tolerant = bool((context.definition_metadata or {}).get(MAY_BE_MISSING))
        if tolerant or name in MANY:
            there = _those_there(self._store, list(keys.values()))
            for partition in [partition for partition, key in keys.items() if key not in there]:
                if not tolerant:
                    raise missing(context.asset_key, partition, self._store.url(keys[partition]))
                del keys[partition]
        if name in MANY:
            return {partition: MANY[name](self._store, key) for partition, key in keys.items()}
        return {partition: self._one(context.asset_key, partition) for partition in keys}

    def _one(self, asset_key: dg.AssetKey, partition: str) -> Record:
        key = object_key(asset_key, partition)
        try:
            raw = self._store.read(key)
        except ObjectMissing as error:
            raise missing(asset_key, partition, self._store.url(key)) from error
        return one_record(asset_key.path[-1]).from_json(json.loads(raw), source=self._store.url(key))


def _those_there(store: ObjectStore, keys: list[str]) -> set[str]:
    """Return those of the keys that have an object: one listing a folder, as a request each adds up on S3."""
    if len(keys) == 1:
        return {key for key in keys if store.exists(key)}
    folders = {key.rpartition("/")[0] for key in keys}
    return {key for folder in folders for key in store.list(f"{folder}/")} & set(keys)


def missing(asset_key: dg.AssetKey, partition: str, url: str) -> dg.Failure:
    """Return the failure for an upstream partition that was never materialized."""
    name = asset_key.to_user_string()
    return dg.Failure(
        f"`{name}` of partition `{partition}` is needed, but was never materialized (no `{url}`). Do that first: "
        f"dagster asset materialize --select '{name}' --partition '{partition}'",
        allow_retries=False,
    )


@dg.io_manager(required_resource_keys={"workspace"}, description="Records in the project's store.")
def records_io_manager(context: dg.InitResourceContext) -> RecordIOManager:
    """Store assets in the workspace's store."""
    workspace: Workspace = context.resources.workspace
    return RecordIOManager(workspace.store)


def _bytes(value: Record | Iterable[Record]) -> bytes | Iterable[bytes]:
    if isinstance(value, Record):
        return json.dumps(value.to_json(), ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"
    return (record.to_line() for record in value)
