"""The `meta` of a dataset's rows, found by question id without being held."""

from array import array
from collections.abc import Iterator, Mapping, ValuesView

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import read_question, rows_with_meta
from bench_assets.contracts.base import JsonValue
from bench_assets.text_numbers import TextNumbers

Meta = Mapping[str, JsonValue]


class DatasetMeta(Mapping[str, Meta]):
    """Maps question ids to their `meta`, of the rows that have any, in about 35 bytes each.

    The dataset must stay as it is meanwhile; whoever makes one has looked at its digest.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        """Read the dataset once; rows that hold no `meta` are not looked into. Raises InvalidBenchmark, OSError."""
        self._benchmark = benchmark
        self._numbers = TextNumbers()
        self._lines = array("I")
        self._offsets = array("Q")
        for line, offset, question in rows_with_meta(benchmark):
            if self._numbers.add(question.id)[1]:
                self._lines.append(line)
                self._offsets.append(offset)

    def __getitem__(self, question_id: str) -> Meta:
        """Return a question's meta, read from its line. Raises KeyError for one without."""
        number = self._numbers.find(question_id)
        if number is None:
            raise KeyError(question_id)
        return read_question(self._benchmark, offset=self._offsets[number], line=self._lines[number]).meta

    def __iter__(self) -> Iterator[str]:
        """Yield the ids in the dataset's order."""
        return (question.id for _, _, question in rows_with_meta(self._benchmark))

    def __len__(self) -> int:
        """Return how many questions have any."""
        return len(self._numbers)

    def __contains__(self, question_id: object) -> bool:
        """Return whether a question has any."""
        return isinstance(question_id, str) and question_id in self._numbers

    def values(self) -> ValuesView[Meta]:
        """Return every meta in the dataset's order, read in one pass."""
        return _Values(self, self._benchmark)


class _Values(ValuesView[Meta]):
    def __init__(self, mapping: Mapping[str, Meta], benchmark: Benchmark) -> None:
        super().__init__(mapping)
        self._benchmark = benchmark

    def __iter__(self) -> Iterator[Meta]:
        return (question.meta for _, _, question in rows_with_meta(self._benchmark))
