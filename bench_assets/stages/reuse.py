"""Answers of an earlier run that a new one takes over: nothing that was paid for is asked again."""

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterator

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.answer import SettledExecution
from bench_assets.contracts.base import dump_json
from bench_assets.contracts.benchmark import Question
from bench_assets.contracts.plan import Plan
from bench_assets.errors import InvalidPlan, ObjectMissing
from bench_assets.execution.journal import Journal, read_settled
from bench_assets.planning.questions import Layout
from bench_assets.stages.checkpoints import checkpoint_place, shard_names
from bench_assets.stages.workspace import Workspace
from bench_assets.text_numbers import TextNumbers

HALF = 8
"""Bytes of each of a question's two digests."""


class Wanted:
    """Executions that are looked for, and which of them were found: about 30 bytes each."""

    def __init__(self) -> None:
        self._numbers = TextNumbers()
        self._found = bytearray()
        self.left = 0
        """How many were not found."""

    def add(self, execution_id: str) -> None:
        """Want an execution."""
        if self._numbers.add(execution_id)[1]:
            self._found.append(False)
            self.left += 1

    def number(self, execution_id: str) -> int | None:
        """Return the number of an execution that is wanted and was not found; None for any other."""
        number = self._numbers.find(execution_id)
        return None if number is None or self._found[number] else number

    def find(self, number: int) -> None:
        """Note that an execution was found."""
        self._found[number] = True
        self.left -= 1

    def is_found(self, execution_id: str) -> bool:
        """Return whether an execution was wanted and found."""
        number = self._numbers.find(execution_id)
        return number is not None and bool(self._found[number])

    def __len__(self) -> int:
        """Return how many were wanted."""
        return len(self._numbers)


class EarlierRun:
    """The run before: its population, and the answers in its journal. Holds about 40 bytes a question."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        """Raises InvalidPlan when nothing is known of the run."""
        self._workspace = workspace
        self._plan = read_plan(workspace, run_id)
        self._questions = TextNumbers()
        self._digests = bytearray()
        for identity, digests_before in read_population(workspace, run_id):
            if self._questions.add(identity)[1]:
                self._digests += bytes.fromhex("".join(digests_before))

    def answers(self, wanted: Wanted, *, first: str) -> Iterator[SettledExecution]:
        """Yield the answered executions among those that are `wanted` and not found, and note them as found.

        Looks into shard `first` before the others: questions keep their shard unless rows were added or removed before
        them.
        """
        shards = sorted(shard_names(self._plan), key=lambda shard: shard != first)
        for shard in shards:
            if not wanted.left:
                return
            last = array("I", bytes(4 * len(wanted)))  # by wanted number: the last line of its journal
            for line, record in enumerate(self._settled(shard), start=1):
                if (number := wanted.number(record.execution_id)) is not None:
                    last[number] = line
            for line, record in enumerate(self._settled(shard), start=1):
                number = wanted.number(record.execution_id)
                if number is not None and last[number] == line and record.error is None:
                    wanted.find(number)
                    yield record.model_copy(update={"reused_from": record.reused_from or self._plan.run_id})

    def change(self, question: Question) -> str:
        """Return what became of a question since: `new`, `question changed`, `golden changed` or `same`."""
        number = self._questions.find(question.id)
        if number is None:
            return "new"
        before = self._digests[2 * HALF * number : 2 * HALF * (number + 1)]
        asked, golden = map(bytes.fromhex, digests(question))
        if before[:HALF] != asked:
            return "question changed"
        return "same" if before[HALF:] == golden else "golden changed"

    def _settled(self, shard: str) -> Iterator[SettledExecution]:
        place, prefix = checkpoint_place(self._workspace, self._plan)
        return read_settled(place, prefix=prefix, run_id=self._plan.run_id, shard=shard)


def take_over(earlier: EarlierRun, journal: Journal, layout: Layout, *, shard: str) -> None:
    """Put the earlier run's answers to a shard's executions into its journal, where they are not settled yet."""
    wanted = Wanted()
    for item in layout.shard(shard):
        if item.execution_id not in journal.settled():
            wanted.add(item.execution_id)
    for record in earlier.answers(wanted, first=shard):
        journal.append(record)
    journal.flush()


def preview(workspace: Workspace, plan: Plan, benchmark: Benchmark) -> str:
    """Return what a plan takes over from its earlier run and what it will ask, in one line of counts."""
    assert plan.reuse_from is not None
    earlier = EarlierRun(workspace, plan.reuse_from)
    layout = Layout(plan, benchmark)
    counts: Counter[str] = Counter()
    for shard in shard_names(plan):
        wanted = Wanted()
        for item in layout.shard(shard):
            wanted.add(item.execution_id)
        for _ in earlier.answers(wanted, first=shard):
            pass
        for item in layout.shard(shard):
            change = earlier.change(item.question)
            if wanted.is_found(item.execution_id):
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
    lines = (dump_json([question.id, *digests(question)]) + b"\n" for question in Layout(plan, benchmark).questions())
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
