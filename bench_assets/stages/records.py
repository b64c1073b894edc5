"""Where the records of each step lie, and how they are read back without holding them all."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from bench_assets.contracts.agent import path_segment
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.base import Record
from bench_assets.contracts.score import ScoreRecord
from bench_assets.errors import StorageFailed
from bench_assets.storage.objects import ObjectStore

Line = TypeVar("Line", bound=Record)


@dataclass(frozen=True)
class RecordFile(Generic[Line]):
    """The records of a stored `.jsonl`, read anew, line by line, each time they are iterated over."""

    store: ObjectStore
    key: str
    record: type[Line]

    def __iter__(self) -> Iterator[Line]:
        """Yield the records in the file's order. Raises ObjectMissing, or StorageFailed for a bad line."""
        read = self.record.model_validate_json
        for number, line in enumerate(self.store.lines(self.key), start=1):
            try:
                yield read(line)
            except ValidationError:
                yield self._otherwise(line, number)

    def _otherwise(self, line: bytes, number: int) -> Line:
        """Read a line that the quick way does not take: escaped lone surrogates, or a fault that is to be told."""
        source = f"{self.store.url(self.key)}:{number}"
        try:
            values = json.loads(line)
        except ValueError as error:
            raise StorageFailed(f"{source}: the line is not JSON ({error}).") from error
        return self.record.from_json(values, source=source)


class AnswerFile(RecordFile[AnswerRecord]):
    """A stored file of answers."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        super().__init__(store, key, AnswerRecord)


class ScoreFile(RecordFile[ScoreRecord]):
    """A stored file of scores."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        super().__init__(store, key, ScoreRecord)


def record_key(folder: str, *, partition: str, suffix: str) -> str:
    """Return the key of a partition's records: `<folder>/<candidate>[/<shard>]<suffix>`."""
    candidate, bar, shard = partition.partition("|")
    return f"{folder}/{path_segment(candidate)}" + (f"/{shard}" if bar else "") + suffix
