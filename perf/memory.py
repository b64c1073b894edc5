"""How much memory the orchestrator takes by the number of questions, and its workers by the way they are asked."""

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bench_assets.contracts.answer import OpenExecution
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.execution.engine import Engine
from bench_assets.execution.journal import open_journal
from bench_assets.execution.launch import WorkerLaunch
from perf.harness import Cell, Goal, Setting, Table
from perf.processes import run, variables
from tests.endtoend.project import UserProject, write_package

ROOT = Path(__file__).parent.parent

ECHO = """\
class Agent:
    def run(self, question, **kwargs):
        return (question * (1024 // len(question) + 1))[:1024]

def make_agent():
    return Agent()
"""
"""Answers with its question, over and over, up to a kilobyte."""

WAITING = """\
import asyncio

class Agent:
    async def run(self, question):
        await asyncio.sleep(0.05)
        return question
"""

Parts = Mapping[str, Mapping[str, float]]


def measure(setting: Setting) -> Iterator[Table]:
    """Yield the peaks by size, what each part of a run takes, and the workers' memory."""
    sizes = (100, 1_000) if setting.quick else (1_000, 100_000, 1_000_000)
    found = {count: Evaluated(setting, count).run() for count in sizes}
    yield _by_size(found)
    yield _by_part(found)
    yield _compared(setting, sizes[:2])
    yield _workers(setting)


class Evaluated:
    """A project with one benchmark of so many questions, answers of 1 KB, and an agent in two variants."""

    def __init__(self, setting: Setting, count: int) -> None:
        """Write the project."""
        self._setting = setting
        self._count = count
        self._folder = setting.folder / f"questions-{count}"
        (self._folder / "dagster_home").mkdir(parents=True)
        telemetry = "telemetry:\n  enabled: false\n"
        (self._folder / "dagster_home" / "dagster.yaml").write_text(telemetry, encoding="utf-8")
        write_package(self._folder / "agent", ECHO)
        self._project = UserProject(folder=self._folder, cache=setting.folder / "cache")
        self._project.agents(
            "agents:\n  echo: {source: ./agent, entry_point: agent, variants: {other: {kwargs: {n: 1}}}}\n"
        )
        benchmark = self._folder / "benchmarks" / "quiz" / "1.0"
        benchmark.mkdir(parents=True)
        spec = 'name: quiz\nversion: "1.0"\njudge: {type: exact_match}\nretries: 0\nparallelism: 2\n'
        (benchmark / "benchmark.yaml").write_text(spec, encoding="utf-8")
        with (benchmark / "dataset.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(map(_row, range(count)))

    def run(self, *candidates: str) -> Parts:
        """Evaluate one candidate after the other; return the parts of the last one, and remove everything."""
        environ = variables(self._setting.folder / "pycache", **self._project.variables)
        environ |= {name: value for name, value in self._project.environ.items() if name not in os.environ}
        environ["PYTHONPATH"] = str(ROOT)
        result = self._folder / "peaks.json"
        for candidate in candidates or ("echo@local",):
            self._setting.note(f"{self._count:,} questions, {candidate}")
            command: list[str | Path] = [sys.executable, "-m", "perf.peaks", result, "run", "--benchmark", "quiz@1.0"]
            run([*command, "--agent", candidate], cwd=self._folder, environ=environ)
        found: Parts = json.loads(result.read_text(encoding="utf-8"))
        shutil.rmtree(self._folder)
        return found


def _row(number: int) -> str:
    question = f"What is the number {number} called in words? "
    golden = "never" if number % 4 == 0 else (question * (1024 // len(question) + 1))[:1024]
    return json.dumps({"id": f"q{number}", "question": question, "golden": golden}) + "\n"


def _by_size(found: Mapping[int, Parts]) -> Table:
    peaks = {count: _peak(parts) for count, parts in found.items()}
    first, last = peaks[min(peaks)], peaks[max(peaks)]
    return Table(
        title="Peak memory of `bench-assets run`, a first run with answers of 1 KB, matched exactly",
        columns=["questions", "peak MB", "times the smallest", "our CPU µs/question, all parts"],
        rows=[
            [f"{count:,}", peak, peak / first, sum(part["work_sec"] for part in found[count].values()) / count * 1e6]
            for count, peak in peaks.items()
        ],
        goals=[
            Goal(
                text=f"at most 1.5 times the memory from {min(peaks):,} to {max(peaks):,} questions",
                value=last / first,
                at_most=1.5,
            )
        ],
        notes=[
            "Resident memory of the one process that runs all of Dagster's steps, its libraries included. Workers and "
            "the embedded Postgres are processes of their own. One run of each size: a peak varies little, and the "
            "largest takes minutes."
        ],
    )


def _by_part(found: Mapping[int, Parts]) -> Table:
    names = [name for name in found[max(found)] if any(name in parts for parts in found.values())]
    columns = ["part", *(f"peak MB at {count:,}" for count in found), "our CPU µs/question at most questions"]
    rows: list[Sequence[Cell]] = [
        [
            name,
            *(parts[name]["peak_mb"] if name in parts else None for parts in found.values()),
            found[max(found)][name]["work_sec"] / max(found) * 1e6,
        ]
        for name in names
    ]
    return Table(title="The same by part of the run", columns=columns, rows=rows)


def _compared(setting: Setting, sizes: Iterable[int]) -> Table:
    """Measure a second candidate, which is held against the first."""
    found = {count: Evaluated(setting, count).run("echo@local", "echo@local~other") for count in sizes}
    return Table(
        title="The same for a second candidate, held against the first",
        columns=["questions", "peak MB", "comparison, peak MB", "report, peak MB", "comparison, CPU µs/question"],
        rows=[
            [
                f"{count:,}",
                _peak(parts),
                parts["comparison"]["peak_mb"],
                parts["report"]["peak_mb"],
                parts["comparison"]["work_sec"] / count * 1e6,
            ]
            for count, parts in found.items()
        ],
        notes=["Both runs are held in columns, and the texts of up to 20,000 questions that are listed."],
    )


def _peak(parts: Parts) -> float:
    return max(part["peak_mb"] for part in parts.values())


def _workers(setting: Setting) -> Table:
    """Measure 64 questions in flight: in one worker of an async adapter, and in 64 workers."""
    at_once = 8 if setting.quick else 64
    (setting.folder / "waiting_agent.py").write_text(WAITING, encoding="utf-8")
    figures = {}
    for workers, each in ((1, at_once), (at_once, 1)):
        setting.note(f"{workers} workers with {each} in flight")
        figures[workers] = _asked(setting, workers=workers, each=each)
    one, many = figures[1], figures[at_once]
    return Table(
        title=f"Memory of the workers, {at_once} questions in flight",
        columns=["workers", "in flight in each", "RSS MB together", "PSS MB together"],
        rows=[[1, at_once, one["Rss"], one["Pss"]], [at_once, 1, many["Rss"], many["Pss"]]],
        goals=[
            Goal(
                text="one async worker takes at most a tenth of as many plain ones (PSS)",
                value=100 * one["Pss"] / many["Pss"],
                at_most=10.0,
                unit="%",
            )
        ],
        notes=[
            "The greatest sum seen over all processes of the workers. PSS counts a page that n processes share as 1/n "
            "for each; RSS counts it n times."
        ],
    )


def _asked(setting: Setting, *, workers: int, each: int) -> dict[str, float]:
    launch = WorkerLaunch(
        python=Path(sys.executable),
        connection=("--import-path", "waiting_agent:Agent"),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'worker' / 'src'}:{setting.folder}"},
        kwargs={},
        run_id="run",
        log_dir=setting.folder / "logs",
    )
    executions = [
        OpenExecution(execution_id=f"{number:032x}", id=f"q{number}", question=f"Question {number}?")
        for number in range(40 * workers * each)
    ]
    greatest = {"Rss": 0.0, "Pss": 0.0}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            for name, value in _together().items():
                greatest[name] = max(greatest[name], value)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        policy = ExecutionPolicy(parallelism=workers, concurrency=each)
        with (
            Engine(launch, policy=policy) as engine,
            open_journal(setting.folder / "journals", run_id="run", shard=f"{workers}", flush_every=50) as journal,
        ):
            engine.run(executions, journal=journal, shard=f"{workers}")
    finally:
        over.set()
        looking.join()
    return greatest


def _together() -> dict[str, float]:
    """Return the memory of all descendants of this process in MB."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:  # gone meanwhile
                continue
            parents[int(entry.name)] = int(fields[1])
    ours, count = {os.getpid()}, 0
    while len(ours) > count:
        count = len(ours)
        ours |= {process for process, parent in parents.items() if parent in ours}
    total = {"Rss": 0.0, "Pss": 0.0}
    for process in ours - {os.getpid()}:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            continue
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if name in total:
                total[name] += int(value.split()[0]) * 1024 / 1e6
    return total
