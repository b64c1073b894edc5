"""A real run of eight processes over one S3 and one Postgres, and the constants of single ones."""

import math
import os
import shutil
import statistics
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import dagster as dg

from bench_assets.analysis.metrics import summarize
from bench_assets.stages.records import AnswerFile, ScoreFile
from bench_assets.stages.rows import store_rows
from bench_assets.storage.postgres.database import Database
from perf.evaluation import CANDIDATE, Evaluation
from perf.harness import Setting
from perf.rows import made_run, some_workspace
from perf.services import Services, Used, cpu_of, postmaster, running_services
from perf.simulation import Costs, Outcome, Setup, simulate
from tests.deployment.machines import DAGSTER_YAML, Machine
from tests.storage.records import RUN_ID

PROCESSES = 8
AT_ONCE = 4
"""Questions in flight of each process."""
PAUSE, SPREAD = 0.05, 0.5
"""An answer takes 50 ms on average, evenly between 25 and 75 ms."""

AGENT = f"""\
import asyncio
import hashlib

class Agent:
    async def run(self, question):
        place = int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big") / 2**32
        await asyncio.sleep({PAUSE} * (1 + {SPREAD} * (2 * place - 1)))
        return question.upper()

def make_agent():
    return Agent()
"""


class _Project:
    """A project with its environment built and its plan made, ready for machines."""

    def __init__(self, services: Services, name: str, *, questions: int, shards: int) -> None:
        self.questions, self.shards = questions, shards
        self._services = services
        self._folder = services.folder / name
        self.evaluation = Evaluation(
            self._folder / "project",
            questions=questions,
            shards=shards,
            storage=f"s3://{services.s3.bucket}/{name}",
            settings=f"parallelism: 1\nconcurrency: {AT_ONCE}\n",
            variables=services.variables,
            agent=AGENT,
        )
        home = self._folder / "project" / "dagster_home"
        (home / "dagster.yaml").write_text(DAGSTER_YAML, encoding="utf-8")
        before = dict(os.environ)
        os.environ.update(self.evaluation.project.environ)
        try:
            with (
                dg.DagsterInstance.from_config(str(home)) as instance,
                self.evaluation.opened(instance) as opened,
            ):
                opened.materialize("agent_environment")
                opened.materialize("plan")
        finally:
            os.environ.clear()
            os.environ.update(before)
        shutil.rmtree(self._folder / "project" / "agent")  # only the store has it now

    def machine(self, number: int) -> Machine:
        """Return a new machine, with an empty home and cache."""
        folder = self._folder / f"machine-{number}"
        variables = {**self.evaluation.project.variables, **self._services.counting}
        return Machine(folder, self.evaluation.project, variables)

    def answered(self, shards: dict[int, Machine]) -> Used:
        """Have machines answer and score a shard each, all at once."""
        before, began = self._services.before(), time.perf_counter()
        pods = [
            machine.materialize("answers", "scores", partition=f"{CANDIDATE}|{shard:03d}")
            for shard, machine in shards.items()
        ]
        return self._services.watched(pods, began, before)

    def finished(self, machine: Machine) -> Used:
        """Have a machine sum up and store the rows."""
        before, began = self._services.before(), time.perf_counter()
        pods = [machine.materialize("summary", "result_rows", partition=CANDIDATE)]
        return self._services.watched(pods, began, before)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One round: the constants, and the same run simulated and real."""

    costs: Costs
    simulated: Outcome
    answered: Used
    finished: Used
    rows: int
    setup: Setup


class Round:
    """One calibration with single processes, and one real run."""

    def __init__(self, setting: Setting, number: int) -> None:
        self._setting = setting
        self._folder = setting.folder / f"round-{number}"
        self._number = number

    def measured(self) -> Measured:
        """Measure the constants, then let eight processes run, and simulate the same."""
        few, more = (8, 40) if self._setting.quick else (16, 800)
        questions = 160 if self._setting.quick else 9600
        with running_services(self._folder) as services:
            self._setting.note(f"round {self._number + 1}: one process at a time")
            costs = self._costs(services, few, more)
            self._setting.note(f"round {self._number + 1}: {PROCESSES} processes, {questions:,} questions")
            project = _Project(services, "real", questions=questions, shards=PROCESSES)
            machines = {shard: project.machine(shard) for shard in range(PROCESSES)}
            rows = services.rows()
            answered = project.answered(machines)
            finished = project.finished(machines[0])
            rows = services.rows() - rows
        setup = Setup(
            executions=questions,
            shards=PROCESSES,
            pods=PROCESSES,
            at_once=AT_ONCE,
            answer_sec=PAUSE,
            answer_spread=SPREAD,
            cores=(answered.cores * answered.wall + finished.cores * finished.wall) / (answered.wall + finished.wall),
        )
        return Measured(
            costs=costs,
            simulated=simulate(setup, costs, seed=self._number),
            answered=answered,
            finished=finished,
            rows=rows,
            setup=setup,
        )

    def _costs(self, services: Services, few: int, more: int) -> Costs:
        small = _Project(services, "small", questions=3 * few, shards=3)
        # Not measured: it compiles the modules, as the building of an image does.
        small.answered({2: small.machine(2)})
        machine = small.machine(0)
        cold, warm = small.answered({0: machine}), small.answered({1: machine})
        small_end = small.finished(machine)
        large = _Project(services, "large", questions=more, shards=1)
        machine = large.machine(0)
        many = large.answered({0: machine})
        large_end = large.finished(machine)
        event_cpu = cold.postgres / cold.events
        question_cpu = max(1e-5, (many.cpu - cold.cpu) / (more - few))
        summary_cpu, row_cpu, row_postgres_cpu = _per_execution(self._folder, quick=self._setting.quick)
        start_cpu = warm.cpu - few * question_cpu - warm.events * event_cpu
        asking = _asking_sec(few)
        # Listings do not grow with the shards; the two runs differ in them, as a single shard is looked up without.
        per_shard = Counter({"GET": (small_end.requests["GET"] - large_end.requests["GET"]) // 2})
        last = min(small_end, large_end, key=lambda used: used.cpu)
        return Costs(
            start_cpu=start_cpu,
            start_wait=max(0.0, warm.wait - asking),
            restore_cpu=max(0.0, cold.cpu - warm.cpu),
            restore_wait=max(0.0, cold.wait - warm.wait),
            question_cpu=question_cpu,
            put_wait=_put_sec(services),
            event_cpu=event_cpu,
            events_per_run=cold.events,
            events_per_shard=0,
            finish_cpu=last.cpu - last.events * event_cpu - 3 * few * (summary_cpu + row_cpu + row_postgres_cpu),
            finish_wait=last.wait,
            finish_events=last.events,
            summary_cpu=summary_cpu,
            row_cpu=row_cpu,
            row_postgres_cpu=row_postgres_cpu,
            requests_per_shard=cold.requests - _journal_requests(few),
            finish_requests=small_end.requests - Counter({"GET": 3 * per_shard["GET"]}),
            finish_requests_per_shard=per_shard,
        )


def _put_sec(services: Services) -> float:
    """Return the seconds from a segment's PUT to its reply, as measured here; S3 elsewhere takes 10 to 50 ms."""
    client = services.s3.client()
    took = []
    for number in range(30):
        began = time.perf_counter()
        client.put_object(Bucket=services.s3.bucket, Key=f"put/{number}", Body=b"x" * 40_000)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _asking_sec(questions: int) -> float:
    return math.ceil(questions / AT_ONCE) * PAUSE


def _journal_requests(questions: int) -> Counter[str]:
    """Return what a small shard's journal asks of S3: its segments."""
    return Counter({"PUT": math.ceil(questions / 50)})


def _per_execution(folder: Path, *, quick: bool) -> tuple[float, float, float]:
    """Return the CPU seconds of summing up one execution, of making its row, and of storing that."""
    count = 500 if quick else 20_000
    workspace = some_workspace(folder / "rows")
    made_run(workspace, count)
    began = time.process_time()
    answers = AnswerFile(workspace.store, f"runs/{RUN_ID}/answers.jsonl")
    scores = ScoreFile(workspace.store, f"runs/{RUN_ID}/scores.jsonl")
    summarize(zip(answers, scores, strict=True), questions=count, repetitions=1, partial=False)
    summary = (time.process_time() - began) / count
    with Database.open(None, embedded_root=workspace.postgres_folder) as database:
        database.upgrade()
        pid = postmaster(workspace.postgres_folder)
        before, began = cpu_of(pid), time.process_time()
        store_rows(workspace, RUN_ID)
        made = (time.process_time() - began) / count
        stored = (cpu_of(pid) - before) / count
    return summary, made, stored


def median_costs(found: list[Costs]) -> Costs:
    """Return the median of each constant over the rounds; counts are those of the last."""
    numbers = {
        name: statistics.median(getattr(costs, name) for costs in found)
        for name, value in vars(found[0]).items()
        if isinstance(value, float)
    }
    return replace(found[-1], **numbers)
