"""Lays a plan's executions out over its shards."""

from array import array
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import dataset_digest, read_questions
from bench_assets.contracts.benchmark import Question
from bench_assets.contracts.plan import Plan
from bench_assets.errors import InvalidPlan
from bench_assets.planning.identity import ExecutionIds


@dataclass(frozen=True, slots=True)
class PlannedExecution:
    """One (question, repetition) of a plan."""

    execution_id: str
    question: Question
    repetition: int
    """From 1."""


class Layout:
    """The questions of a plan and their places in its shards, read from the dataset as they are needed.

    The n-th chosen question belongs to shard n modulo the number of shards, so shards are as even as can be. Holds
    nothing but, where the plan chose among the rows, 4 bytes for each chosen one.
    """

    def __init__(self, plan: Plan, benchmark: Benchmark) -> None:
        """`benchmark` is the one that the plan was made for; what it holds by now is checked with each reading."""
        self._plan = plan
        self._benchmark = benchmark
        self._identities = ExecutionIds(plan)
        self._chosen: array[int] | None = None

    def shard(self, shard: str) -> Iterator[PlannedExecution]:
        """Yield the executions of one shard, question by question, in the dataset's order.

        Raises InvalidPlan when the dataset is no longer the one that the plan was made for.
        """
        self._check()
        repetitions = range(1, self._plan.selection.repetitions + 1)
        for question in self._questions(first=int(shard), step=self._plan.shards):
            for repetition in repetitions:
                identity = self._identities.of(
                    question_id=question.id, question=question.question, repetition=repetition
                )
                yield PlannedExecution(identity, question, repetition)

    def questions(self) -> Iterator[Question]:
        """Yield the chosen questions in the dataset's order. Raises InvalidPlan as `shard`."""
        self._check()
        return self._questions(first=0, step=1)

    def _check(self) -> None:
        if dataset_digest(self._benchmark.dataset) != self._plan.dataset_digest:
            raise InvalidPlan(
                f"`{self._benchmark.dataset}` has changed since the plan of run {self._plan.run_id} was made at "
                f"{self._plan.created_at}. Materialize `plan` again: the changed dataset is a new run."
            )

    def _questions(self, *, first: int, step: int) -> Iterator[Question]:
        """Yield every `step`-th chosen question, from the `first` on."""
        ids = self._plan.selection.ids
        rows: Container[int] = range(first, self._plan.total_rows, step)
        count = len(range(first, self._plan.selection.questions, step))
        if ids is not None:
            if self._chosen is None:
                wanted = set(ids)
                found = (row for row, one in enumerate(read_questions(self._benchmark)) if one.id in wanted)
                self._chosen = array("I", islice(found, len(wanted)))
            rows = frozenset(self._chosen[first::step])
        return islice(read_questions(self._benchmark, rows=rows), count)


def shard_size(plan: Plan, *, shard: str) -> int:
    """Return how many executions one shard has, without reading the dataset."""
    full, rest = divmod(plan.selection.questions, plan.shards)
    return (full + (1 if int(shard) < rest else 0)) * plan.selection.repetitions
