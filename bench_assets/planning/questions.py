"""Lays a plan's executions out over its shards."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import dataset_digest, read_questions
from bench_assets.contracts.benchmark import Question
from bench_assets.contracts.plan import Plan
from bench_assets.errors import InvalidPlan
from bench_assets.planning.identity import ExecutionIds


@dataclass(frozen=True)
class PlannedExecution:
    """One (question, repetition) of a plan."""

    execution_id: str
    question: Question
    repetition: int
    """From 1."""


def planned_executions(plan: Plan, benchmark: Benchmark, *, shard: str) -> Iterator[PlannedExecution]:
    """Yield the executions of one shard, question by question, in the dataset's order.

    The n-th chosen question belongs to shard n modulo the number of shards, so shards are as even as can be. Raises
    InvalidPlan when the dataset is no longer the one that the plan was made for.
    """
    if dataset_digest(benchmark.dataset) != plan.dataset_digest:
        raise InvalidPlan(
            f"`{benchmark.dataset}` has changed since the plan of run {plan.run_id} was made at {plan.created_at}. "
            "Materialize `plan` again: the changed dataset is a new run."
        )
    identities = ExecutionIds(plan)
    chosen = None if plan.selection.ids is None else set(plan.selection.ids)
    position = 0
    for question in read_questions(benchmark):
        if chosen is not None and question.id not in chosen:
            continue
        if position % plan.shards == int(shard):
            for repetition in range(1, plan.selection.repetitions + 1):
                identity = identities.of(question_id=question.id, question=question.question, repetition=repetition)
                yield PlannedExecution(identity, question, repetition)
        position += 1


def shard_size(plan: Plan, *, shard: str) -> int:
    """Return how many executions one shard has, without reading the dataset."""
    full, rest = divmod(plan.selection.questions, plan.shards)
    return (full + (1 if int(shard) < rest else 0)) * plan.selection.repetitions
