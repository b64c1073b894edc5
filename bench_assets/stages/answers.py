"""Step 3: the answers."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.answer import AnswerRecord, OpenExecution
from bench_assets.contracts.base import digest, dump_json
from bench_assets.contracts.plan import OverriddenVariable, Plan
from bench_assets.errors import InvalidPlan
from bench_assets.execution.engine import Engine, Progress
from bench_assets.execution.journal import Journal, open_journal
from bench_assets.execution.launch import WorkerLaunch, agent_variables
from bench_assets.planning.questions import PlannedExecution, planned_executions
from bench_assets.planning.variables import expand
from bench_assets.stages.environment import open_environment
from bench_assets.stages.stopping import stop_on_signal
from bench_assets.stages.workspace import Workspace


@dataclass
class ShardCounts:
    """What became of a shard; complete once its records were read."""

    planned: int = 0
    reused: int = 0
    """Answered before, and not asked again."""
    asked: int = 0
    answered: int = 0
    errors: int = 0


class AnswerStage:
    """Asks the questions of one plan, shard by shard; its workers stay from one shard to the next."""

    def __init__(
        self,
        workspace: Workspace,
        plan: Plan,
        benchmark: Benchmark,
        *,
        env_overrides: Mapping[str, str] | None = None,
        log_ipc: bool = False,
    ) -> None:
        """`env_overrides` are the values whose digests stand in the plan."""
        self._workspace = workspace
        self._plan = plan
        self._benchmark = benchmark
        self._env_overrides = env_overrides or {}
        self._log_ipc = log_ipc
        self._engine: Engine | None = None
        self._journal: Journal | None = None
        self._advance_from = 0

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

    def shard(self, shard: str, counts: ShardCounts) -> Iterator[AnswerRecord]:
        """Ask what is open in a shard, then yield all its answers in the plan's order, filling `counts`.

        Raises WorkerFailed when no worker becomes ready, ShardBusy while another process works on the shard, and
        Interrupted after a signal; what was answered by then is kept and not asked again.
        """
        planned = list(planned_executions(self._plan, self._benchmark, shard=shard))
        journal = self._journal = self._open_journal(shard)
        try:
            settled = journal.settled()
            open_ones = [
                OpenExecution(
                    execution_id=item.execution_id,
                    id=item.question.id,
                    repetition=item.repetition,
                    question=item.question.question,
                    attempts=journal.read(item.execution_id).attempts if item.execution_id in settled else [],
                )
                for item in planned
                if item.execution_id not in settled or settled[item.execution_id].kind != "answered"
            ]
            counts.planned, counts.asked = len(planned), len(open_ones)
            counts.reused = counts.planned - counts.asked
            if open_ones:
                self._ask(open_ones, journal, shard, counts)
            yield from self._records(planned, journal, counts)
        finally:
            self._journal = None
            journal.close()

    def _open_journal(self, shard: str) -> Journal:
        place = self._plan.checkpoint_dir
        store = self._workspace.store if place is None else self._workspace.open_place(place)
        return open_journal(
            store,
            prefix="checkpoints" if place is None else "",
            run_id=self._plan.run_id,
            shard=shard,
            flush_every=self._plan.policy.checkpoint_flush_every,
        )

    def _ask(self, open_ones: list[OpenExecution], journal: Journal, shard: str, counts: ShardCounts) -> None:
        reporter = self._workspace.reporter
        engine = self._engine or self._start()
        title = f"asking {self._plan.candidate} on {self._plan.benchmark}, shard {shard}"
        reporter.start(title, total=counts.planned)
        self._advance_from = counts.reused
        try:
            with stop_on_signal(engine.stop):
                engine.run(open_ones, journal=journal, shard=shard)
        finally:
            reporter.finish()
        if engine.agent is not None:
            seen = {"describe": engine.agent.describe, "python": engine.agent.python}
            self._workspace.store.write(f"checkpoints/{self._plan.run_id}/agent.json", dump_json(seen))

    def _start(self) -> Engine:
        plan = self._plan
        _, _, variant = self._workspace.candidates.resolve(plan.candidate)
        environ = self._workspace.environ
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
            log_dir=self._workspace.worker_logs(plan.run_id),
            log_ipc=self._log_ipc,
        )
        self._engine = Engine(launch, policy=plan.policy, on_event=self._on_progress)
        return self._engine

    def _on_progress(self, progress: Progress) -> None:
        note = f"{progress.errors} errors" if progress.errors else ""
        self._workspace.reporter.advance(self._advance_from + progress.settled, note=note)

    def _records(
        self, planned: list[PlannedExecution], journal: Journal, counts: ShardCounts
    ) -> Iterator[AnswerRecord]:
        for item in planned:
            settled = journal.read(item.execution_id)
            counts.answered += settled.error is None
            counts.errors += settled.error is not None
            yield AnswerRecord(
                **dict(settled), run_id=self._plan.run_id, question=item.question.question, golden=item.question.golden
            )


def _as_planned(
    values: Mapping[str, str], planned: list[OverriddenVariable], environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the values, sure to be those that the plan was made with."""
    expanded = expand(values, environ)
    found = {name: digest([name, value]) for name, value in expanded.items()}
    expected = {item.name: item.digest for item in planned}
    changed = sorted(name for name, _ in itertools.chain(found.items() ^ expected.items()))
    if changed:
        raise InvalidPlan(
            f"the agent's variables {', '.join(f'`{name}`' for name in dict.fromkeys(changed))} have other values now "
            "than when the run was planned. Give them the same values, or materialize `plan` again for a new run."
        )
    return expanded
