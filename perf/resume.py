"""How long until the first open question is asked when `answers` is materialized again, by the number of questions."""

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from bench_assets.catalog import dataset
from bench_assets.catalog.benchmarks import find_benchmark
from bench_assets.contracts.answer import Attempt, SettledExecution
from bench_assets.contracts.plan import Plan
from bench_assets.execution.journal import open_journal
from bench_assets.planning.questions import Layout
from bench_assets.stages.plan import current_plan
from perf.evaluation import CANDIDATE, Evaluation, Opened
from perf.harness import Goal, Setting, Table

AGENT = """\
import os
import pathlib
import time

FIRST = pathlib.Path(os.environ["FIRST"])

class Agent:
    async def run(self, question):
        if not FIRST.exists():
            FIRST.write_text(str(time.monotonic()))
        return question.upper()

def make_agent():
    return Agent()
"""
"""Notes when it is asked its first question, by the clock that all processes of a machine share."""

OPEN = 1000
"""One in so many questions is open."""

IsOpen = Callable[[int, int], bool]
"""Says of a question's place in the dataset, of so many, whether it is open."""

CASES: dict[str, IsOpen] = {
    "spread over all shards": lambda place, _: place % OPEN == place // OPEN % OPEN,
    "all in the last shard": lambda place, count: place % 8 == 7 and place >= count - 8 * max(1, count // OPEN),
}
"""The second is what a kill near the end leaves."""


def measure(setting: Setting) -> Iterator[Table]:
    """Yield the seconds by size, and what each further question adds."""
    sizes = (1_000, 2_000) if setting.quick else (1_000, 10_000, 100_000)
    table = Table(
        title="Seconds until the first open question is asked, 99.9 % settled, 8 shards, answers of 1 KB",
        columns=["questions", *CASES],
        notes=[
            "From the start of the Dagster run that materializes `answers`, in a process that has Dagster and the "
            "definitions loaded, to the agent's first question: the dataset's digest, the journal, the choice of what "
            "is open and the worker's start are in it. Nothing of the dataset is known from before."
        ],
    )
    found: dict[str, list[float]] = {name: [] for name in CASES}
    for count in sizes:
        for name, is_open in CASES.items():
            setting.note(f"{count:,} questions, open ones {name}")
            found[name].append(_seconds(setting, count, is_open, name=name))
        table.rows.append([f"{count:,}", *(of[-1] for of in found.values())])
    slopes = {name: (of[-1] - of[0]) / (sizes[-1] - sizes[0]) * 1e6 for name, of in found.items()}
    table.rows.append([f"µs a question, from {sizes[0]:,} on", *slopes.values()])
    worst = max(of[-1] for of in found.values())
    table.goals = [Goal(text=f"less than 3 s with {sizes[-1]:,} questions", value=worst, at_most=3.0, unit="s")]
    yield table


def _seconds(setting: Setting, count: int, is_open: IsOpen, *, name: str) -> float:
    folder = setting.folder / f"{count}-{name[:3]}"
    folder.mkdir()
    first = folder / "first"
    evaluation = Evaluation(folder, questions=count, shards=8, agent=AGENT, variables={"FIRST": str(first)})
    evaluation.project.agents("agents:\n  kg: {source: ./agent, entry_point: agent, env: [FIRST]}\n")
    took = []
    with _instance() as instance, evaluation.opened(instance) as opened:
        opened.materialize("agent_environment", "plan")
        store, kept = folder / ".bench", folder / "kept"
        _settle(opened, count, is_open)
        shutil.copytree(store, kept)
        for _ in range(setting.rounds):
            shutil.rmtree(store)
            shutil.copytree(kept, store)
            first.unlink(missing_ok=True)
            dataset._digest_at.cache_clear()
            os.sync()  # what the preparation wrote is not to be waited for
            began = time.monotonic()
            opened.materialize_shards("answers")
            took.append(float(first.read_text(encoding="ascii")) - began)
    shutil.rmtree(folder)
    return statistics.median(took)


def _settle(opened: Opened, count: int, is_open: IsOpen) -> None:
    """Write the journal of a run that was stopped."""
    benchmark = find_benchmark(opened.workspace.project.benchmarks, "quiz@1.0")
    plan = current_plan(opened.workspace, benchmark=benchmark, candidate=CANDIDATE)
    assert isinstance(plan, Plan)
    layout = Layout(plan, benchmark)
    for number in range(plan.shards):
        shard = f"{number:03d}"
        folder = Path(opened.workspace.project.folder) / ".bench"
        with open_journal(folder, prefix="checkpoints", run_id=plan.run_id, shard=shard, flush_every=50) as journal:
            for at, item in enumerate(layout.shard(shard)):
                if not is_open(at * plan.shards + number, count):
                    journal.append(_record(item.execution_id, item.question.id))


def _record(execution_id: str, question_id: str) -> SettledExecution:
    when = "2026-01-02T03:04:05.000000+00:00"
    attempt = Attempt(number=1, cause="answered", duration_ms=7, worker="000-1", started_at=when)
    return SettledExecution(
        execution_id=execution_id,
        id=question_id,
        repetition=1,
        answer="x" * 1024,
        duration_ms=7,
        attempt=1,
        attempts=[attempt],
        started_at=when,
    )


@contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as instance:
        yield instance
