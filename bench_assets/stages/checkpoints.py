"""Where a run's journal lies, and how far the run has come by it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.answer import AnswerRecord, SettledExecution
from bench_assets.contracts.base import dump_json
from bench_assets.contracts.plan import Plan, RunStatus
from bench_assets.errors import ObjectMissing
from bench_assets.execution.journal import open_settled
from bench_assets.planning.plan import timestamp
from bench_assets.planning.questions import Layout, PlannedExecution
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.objects import ObjectStore


def checkpoint_place(workspace: Workspace, plan: Plan) -> tuple[ObjectStore, str]:
    """Return the store of a run's journal and the prefix in it: the person's own place, or ours."""
    if plan.checkpoint_dir is None:
        return workspace.store, "checkpoints"
    return workspace.open_place(plan.checkpoint_dir), ""


def shard_names(plan: Plan) -> list[str]:
    """Return the keys of a plan's shards."""
    return [f"{number:03d}" for number in range(plan.shards)]


def note_status(workspace: Workspace, plan: Plan, status: RunStatus) -> None:
    """Keep how a run stands, beside its journal, for whoever looks at it."""
    content = {"run_id": plan.run_id, "status": status, "at": timestamp()}
    workspace.store.write(f"checkpoints/{plan.run_id}/status.json", dump_json(content))


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come."""

    status: RunStatus
    planned: int
    """Executions."""
    answered: int
    errors: int
    """Settled with an error of the agent."""

    @property
    def open(self) -> int:
        """Executions that were never settled."""
        return self.planned - self.answered - self.errors


def progress_of(workspace: Workspace, plan: Plan) -> RunProgress:
    """Read how far a run has come, from its journal. Changes nothing and disturbs no process that works on it."""
    try:
        noted = json.loads(workspace.store.read(f"checkpoints/{plan.run_id}/status.json"))["status"]
    except ObjectMissing:
        noted = "checkpoint"
    place, prefix = checkpoint_place(workspace, plan)
    settled = answered = 0
    for shard in shard_names(plan):
        with open_settled(place, prefix=prefix, run_id=plan.run_id, shard=shard) as records:
            settled += len(records.settled())
            answered += records.settled().answered
    return RunProgress(noted, plan.selection.executions, answered, settled - answered)


def known_runs(workspace: Workspace) -> list[str]:
    """Return the run_ids that were planned, sorted, which is by time for those we made."""
    return [key.split("/")[1] for key in workspace.store.list("checkpoints/") if key.endswith("/plan.json")]


def settled_answers(workspace: Workspace, plan: Plan, benchmark: Benchmark) -> Iterator[AnswerRecord]:
    """Yield what a run's journal holds by now, in the plan's order, shard by shard."""
    place, prefix = checkpoint_place(workspace, plan)
    layout = Layout(plan, benchmark)
    for shard in shard_names(plan):
        with open_settled(place, prefix=prefix, run_id=plan.run_id, shard=shard) as records:
            for item in layout.shard(shard):
                if item.execution_id in records.settled():
                    yield answer_record(plan, item, records.read(item.execution_id))


def answer_record(plan: Plan, item: PlannedExecution, settled: SettledExecution) -> AnswerRecord:
    """Join a settled execution with its question and golden."""
    return AnswerRecord(
        **vars(settled), run_id=plan.run_id, question=item.question.question, golden=item.question.golden
    )
