"""Answers of an earlier run that a new one takes over: nothing that was paid for is asked again."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.answer import SettledExecution
from bench_assets.contracts.base import dump_json
from bench_assets.contracts.benchmark import Question
from bench_assets.contracts.plan import Plan
from bench_assets.errors import InvalidPlan, ObjectMissing
from bench_assets.execution.journal import Journal, read_settled
from bench_assets.planning.questions import PlannedExecution, planned_executions
from bench_assets.stages.checkpoints import checkpoint_place, shard_names
from bench_assets.stages.workspace import Workspace


class EarlierRun:
    """The run before: its population, and the answers in its journal."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        """Raises InvalidPlan when nothing is known of the run."""
        self._workspace = workspace
        self._plan = read_plan(workspace, run_id)
        self._population = dict(read_population(workspace, run_id))

    def answers(self, wanted: set[str], *, first: str) -> Iterator[SettledExecution]:
        """Yield the answered executions among `wanted`, looking into shard `first` before the others.

        Questions keep their shard unless rows were added or removed before them.
        """
        left = set(wanted)
        place, prefix = checkpoint_place(self._workspace, self._plan)
        shards = sorted(shard_names(self._plan), key=lambda shard: shard != first)
        for shard in shards:
            if not left:
                return
            last = {
                record.execution_id: record
                for record in read_settled(place, prefix=prefix, run_id=self._plan.run_id, shard=shard)
                if record.execution_id in left
            }
            for record in last.values():
                if record.error is None:
                    left.discard(record.execution_id)
                    yield record.model_copy(update={"reused_from": record.reused_from or self._plan.run_id})

    def change(self, question: Question) -> str:
        """Return what became of a question since: `new`, `question changed`, `golden changed` or `same`."""
        before = self._population.get(question.id)
        if before is None:
            return "new"
        asked, golden = digests(question)
        if before[0] != asked:
            return "question changed"
        return "same" if before[1] == golden else "golden changed"


def take_over(earlier: EarlierRun, journal: Journal, planned: Iterable[PlannedExecution], *, shard: str) -> None:
    """Put the earlier run's answers to planned executions into the journal, where they are not settled yet."""
    settled = journal.settled()
    wanted = {item.execution_id for item in planned if item.execution_id not in settled}
    for record in earlier.answers(wanted, first=shard):
        journal.append(record)
    journal.flush()


def preview(workspace: Workspace, plan: Plan, benchmark: Benchmark) -> str:
    """Return what a plan takes over from its earlier run and what it will ask, in one line of counts."""
    assert plan.reuse_from is not None
    earlier = EarlierRun(workspace, plan.reuse_from)
    counts: Counter[str] = Counter()
    for shard in shard_names(plan):
        planned = list(planned_executions(plan, benchmark, shard=shard))
        wanted = {item.execution_id for item in planned}
        found = {record.execution_id for record in earlier.answers(wanted, first=shard)}
        for item in planned:
            change = earlier.change(item.question)
            if item.execution_id in found:
                counts["reused" if change == "same" else change] += 1
            else:
                counts[change if change in ("new", "question changed") else "asked again"] += 1
    parts = [f"reused {counts['reused']}", f"question changed {counts['question changed']}"]
    parts += [f"golden changed {counts['golden changed']} (re-judged only)", f"new {counts['new']}"]
    if counts["asked again"]:
        parts.append(f"asked again {counts['asked again']}")
    return " · ".join(parts)


def keep_plan(workspace: Workspace, plan: Plan, benchmark: Benchmark) -> bool:
    """Keep a plan and its population beside its journal. Returns False when its run_id was taken before."""
    if not workspace.store.create(f"checkpoints/{plan.run_id}/plan.json", dump_json(plan.to_json())):
        return False
    lines = (
        dump_json([item.question.id, *digests(item.question)]) + b"\n"
        for shard in shard_names(plan)
        for item in planned_executions(plan, benchmark, shard=shard)
        if item.repetition == 1
    )
    workspace.store.write(f"checkpoints/{plan.run_id}/population.jsonl", lines)
    return True


def read_plan(workspace: Workspace, run_id: str) -> Plan:
    """Return the plan of a run. Raises InvalidPlan when there is none."""
    key = f"checkpoints/{run_id}/plan.json"
    try:
        return Plan.from_json(json.loads(workspace.store.read(key)), source=workspace.store.url(key))
    except ObjectMissing as error:
        raise InvalidPlan(
            f"there is no run `{run_id}` (no {workspace.store.url(key)}); the folders in {workspace.store.url('runs')} "
            "are named by their run_id."
        ) from error


def read_population(workspace: Workspace, run_id: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each planned question's id with the digests of its text and of its golden."""
    for line in workspace.store.lines(f"checkpoints/{run_id}/population.jsonl"):
        identity, asked, golden = json.loads(line)
        yield identity, (asked, golden)


def digests(question: Question) -> tuple[str, str]:
    """Return 16 hex digits over a question's text, and 16 over its golden."""
    asked, golden = json.dumps(question.question), json.dumps(question.golden)
    return hashlib.sha256(asked.encode()).hexdigest()[:16], hashlib.sha256(golden.encode()).hexdigest()[:16]
