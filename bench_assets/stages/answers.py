"""Step 3: the answers."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.answer import AnswerRecord, OpenExecution
from bench_assets.contracts.base import clean_json, dump_json
from bench_assets.contracts.plan import Plan, VariableDigest
from bench_assets.errors import Interrupted, InvalidPlan, StorageFailed
from bench_assets.execution.engine import AgentIdentity, Engine, Progress
from bench_assets.execution.journal import Journal, count_records, open_journal
from bench_assets.execution.launch import WorkerLaunch, agent_variables
from bench_assets.planning.only import Only
from bench_assets.planning.questions import Layout, PlannedExecution, shard_size
from bench_assets.planning.variables import digests, expand, seen
from bench_assets.stages.checkpoints import answer_record, checkpoint_place, note_status, settled_answers
from bench_assets.stages.environment import open_environment
from bench_assets.stages.reuse import EarlierRun, take_over
from bench_assets.stages.stopping import stop_on_signal
from bench_assets.stages.summary import keep_unfinished
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle


@dataclass
class ShardCounts:
    """What became of a shard; complete once its records were read."""

    planned: int = 0
    reused: int = 0
    """Answered before, and not asked again."""
    asked: int = 0
    answered: int = 0
    errors: int = 0
    missing: int = 0
    """Left out on purpose, and never settled."""


class AnswerStage:
    """Asks the questions of one plan, shard by shard; its workers stay from one shard to the next."""

    def __init__(
        self,
        workspace: Workspace,
        plan: Plan,
        benchmark: Benchmark,
        *,
        env_overrides: Mapping[str, str] | None = None,
        only: Only | None = None,
        log_ipc: bool = False,
    ) -> None:
        """`env_overrides` are the values whose digests stand in the plan; `only` None asks all that has no answer."""
        self._workspace = workspace
        self._plan = plan
        self._benchmark = benchmark
        self._layout = Layout(plan, benchmark)
        self._env_overrides = env_overrides or {}
        self._only = only
        self._log_ipc = log_ipc
        self._earlier = EarlierRun(workspace, plan.reuse_from) if plan.reuse_from else None
        self._engine: Engine | None = None
        self._journal: Journal | None = None
        self._passed_over = 0

    @property
    def logs(self) -> Path:
        """The folder of what the workers wrote to standard error."""
        return self._workspace.worker_logs(self._plan.run_id)

    def __enter__(self) -> Self:
        """Start nothing yet: workers start with the first question that is open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the workers, and leave a shard that was not read to its end to other processes."""
        if self._engine is not None:
            self._engine.close()
        if self._journal is not None:
            self._journal.close()

    def in_turn(self, shards: Iterable[str]) -> list[str]:
        """Return shards in the order to materialize them: those with open executions first, as far as that shows.

        What is whole costs only the writing of its file, which somebody who resumes a run is not to wait for first.
        """
        place, prefix = checkpoint_place(self._workspace, self._plan)

        def seems_whole(shard: str) -> bool:
            found = count_records(place, prefix=prefix, run_id=self._plan.run_id, shard=shard)
            return found is not None and found >= shard_size(self._plan, shard=shard)

        return sorted(shards, key=seems_whole)

    def shard(self, shard: str, counts: ShardCounts) -> Iterator[AnswerRecord]:
        """Ask what is open in a shard, then yield all its answers in the plan's order, filling `counts`.

        Raises WorkerFailed when no worker becomes ready, ShardBusy while another process works on the shard, and
        Interrupted after a signal; what was answered by then is kept and not asked again.
        """
        journal = self._journal = self._open_journal(shard)
        try:
            if self._earlier is not None:
                take_over(self._earlier, journal, self._layout, shard=shard)
            counts.planned = shard_size(self._plan, shard=shard)
            counts.reused = journal.settled().answered
            open_ones = self._open_ones(journal, shard, counts)
            first = next(open_ones, None)
            if first is not None:
                self._ask(chain([first], open_ones), journal, shard, counts)
            yield from self._records(journal, shard, counts)
        finally:
            self._journal = None
            journal.close()

    def _open_ones(self, journal: Journal, shard: str, counts: ShardCounts) -> Iterator[OpenExecution]:
        """Yield what is to be asked, as the engine comes to it: a shard's questions are never held."""
        self._passed_over = 0
        for item in self._layout.shard(shard):
            if self._is_open(item, journal):
                counts.asked += 1
                yield self._open(item, journal)
            else:
                self._passed_over += 1

    def _is_open(self, item: PlannedExecution, journal: Journal) -> bool:
        status = journal.settled().get(item.execution_id)
        if status is not None and status.kind == "answered":
            return False
        if self._only is None:
            return True
        changed = self._earlier is not None and self._earlier.change(item.question) == "question changed"
        return self._only.asks(settled=status is not None, error=status.cause if status else None, changed=changed)

    @staticmethod
    def _open(item: PlannedExecution, journal: Journal) -> OpenExecution:
        settled = item.execution_id in journal.settled()
        return OpenExecution(
            execution_id=item.execution_id,
            id=item.question.id,
            repetition=item.repetition,
            question=item.question.question,
            attempts=journal.read(item.execution_id).attempts if settled else [],
        )

    def _open_journal(self, shard: str) -> Journal:
        store, prefix = checkpoint_place(self._workspace, self._plan)
        return open_journal(
            store,
            prefix=prefix,
            run_id=self._plan.run_id,
            shard=shard,
            flush_every=self._plan.policy.checkpoint_flush_every,
        )

    def _ask(self, open_ones: Iterable[OpenExecution], journal: Journal, shard: str, counts: ShardCounts) -> None:
        reporter = self._workspace.reporter
        engine = self._engine or self._start()
        title = f"asking {self._plan.candidate} on {self._plan.benchmark}, shard {shard}"
        reporter.start(title, total=counts.planned)
        try:
            with stop_on_signal(engine.stop):
                engine.run(open_ones, journal=journal, shard=shard)
        except Interrupted:
            journal.flush()
            self._keep_interrupted()
            raise
        finally:
            reporter.finish()

    def _keep_interrupted(self) -> None:
        """Leave a run that says that it was interrupted, with what it has, for whoever looks at it."""
        note_status(self._workspace, self._plan, "interrupted")
        if RunBundle(self._workspace.store, self._plan.run_id).summary() is None:  # else its figures still hold
            answers = settled_answers(self._workspace, self._plan, self._benchmark)
            keep_unfinished(self._workspace, self._plan, answers=answers, status="interrupted")

    def _start(self) -> Engine:
        plan = self._plan
        _, _, variant = self._workspace.candidates.resolve(plan.candidate)
        environ = self._workspace.environ
        _check_variables(seen(plan.agent_env, environ), plan.seen_env)
        launch = WorkerLaunch(
            python=Path(open_environment(self._workspace, plan.environment)),
            connection=tuple(plan.environment.connection),
            env=agent_variables(
                allowed=plan.agent_env,
                given=_as_planned(variant.env if variant else {}, plan.variant_env, environ),
                overrides=_as_planned(self._env_overrides, plan.env_overrides, environ),
                parent=environ,
            ),
            kwargs=plan.kwargs,
            run_id=plan.run_id,
            log_dir=self.logs,
            log_ipc=self._log_ipc,
        )
        note_status(self._workspace, plan, "checkpoint")
        self._engine = Engine(launch, policy=plan.policy, on_event=self._on_progress, on_agent=self._on_agent)
        return self._engine

    def _on_agent(self, agent: AgentIdentity) -> None:
        """Keep what the agent says of itself; refuse to go on when it says something else than before."""
        key = f"checkpoints/{self._plan.run_id}/agent.json"
        seen = {"describe": agent.describe, "distribution": agent.distribution, "version": agent.version}
        if self._workspace.store.create(key, dump_json(seen)):
            return
        before = json.loads(self._workspace.store.read(key))
        if before["describe"] != clean_json(agent.describe):
            raise InvalidPlan(
                f"run {self._plan.run_id} cannot go on, because the agent describes itself otherwise than when the run "
                f"began: {dump_json(before['describe']).decode()} then, {dump_json(agent.describe).decode()} now. "
                "Materialize `plan` again for a new run."
            )

    def _on_progress(self, progress: Progress) -> None:
        note = f"{progress.errors} errors" if progress.errors else ""
        self._workspace.reporter.advance(self._passed_over + progress.settled, note=note)

    def _records(self, journal: Journal, shard: str, counts: ShardCounts) -> Iterator[AnswerRecord]:
        for item in self._layout.shard(shard):
            if item.execution_id not in journal.settled():
                counts.missing += 1
                continue
            settled = journal.read(item.execution_id)
            counts.answered += settled.error is None
            counts.errors += settled.error is not None
            yield answer_record(self._plan, item, settled)
        if counts.missing and self._only is None:
            raise StorageFailed(
                f"{counts.missing} of {counts.planned} planned executions were neither answered nor ended in an error. "
                "This is a fault of bench-assets; materialize `answers` again."
            )


def _as_planned(values: Mapping[str, str], planned: list[VariableDigest], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values, sure to be those that the plan was made with."""
    expanded = expand(values, environ)
    _check_variables(expanded, planned)
    return expanded


def _check_variables(values: Mapping[str, str], planned: list[VariableDigest]) -> None:
    changed = sorted({f"`{item.name}`" for item in set(digests(values)) ^ set(planned)})
    if changed:
        raise InvalidPlan(
            f"the agent's variables {', '.join(changed)} have other values now than when "
            "the run was planned. Give them the same values, or materialize `plan` again for a new run."
        )
