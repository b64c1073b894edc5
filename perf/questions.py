"""What the execution layer costs a question: asked, answered by an agent that does nothing, and durable on disk."""

import cProfile
import itertools
import os
import pstats
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import bench_assets
from bench_assets.contracts.answer import OpenExecution
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.execution.asking import MANY
from bench_assets.execution.engine import Engine
from bench_assets.execution.journal import open_journal
from bench_assets.execution.launch import WorkerLaunch
from bench_assets.execution.messages import ask_line
from bench_assets.storage.local import LocalStore
from perf.bare_pipe import bounce
from perf.harness import Goal, Setting, Table, in_turns

ROOT = Path(__file__).parent.parent
AGENT = "class Agent:\n    def run(self, question):\n        return question\n"
RUN_ID = "20260101-000000-00000000"


def measure(setting: Setting) -> Iterator[Table]:
    """Yield the rate beside the bare pipe's at 1, 2 and 4 workers, and where the time goes."""
    count = 1000 if setting.quick else 20_000
    (setting.folder / "noop_agent.py").write_text(AGENT, encoding="utf-8")
    table = Table(
        title=f"{count:,} questions to an agent that does nothing, each answer durable, beside a bare pipe",
        columns=[
            "workers",
            "bare lines/s",
            "questions/s",
            "of the bare rate",
            "least – greatest",
            f"bare lines/s, {MANY} in flight",
            "of that rate",
            "our CPU ms/question",
        ],
        notes=[
            "Bare: lines of the same length each way between two Python processes, no JSON, nothing kept. One in "
            f"flight, and each line wakes both; {MANY} in flight, and lines share the calls that move them, as ours do "
            "for an agent as quick as this. Our CPU is that of the orchestrator's process, its journal's thread and "
            "the kernel's share included."
        ],
    )
    for workers in (1, 2, 4):
        setting.note(f"{workers} workers")
        bench = _Bench(setting.folder, workers=workers)
        lines, reply = _asks(count), _reply()
        with bench.engine as engine:
            bench.ask(engine, 4 * workers)  # the workers start
            ours = partial(bench.ask, engine, count)
            pair = in_turns(ours, partial(bounce, lines, reply), rounds=setting.rounds)
            many = in_turns(ours, partial(bounce, lines, reply, in_flight=MANY), rounds=setting.rounds)
        rate, bare = pair.medians
        work = statistics.median(bench.work[1:])
        row = [workers, bare, rate, pair.ratio, pair.spread, many.medians[1], many.ratio, work]
        table.rows.append(row)
        if workers == 2:
            table.goals = [
                Goal(text="at least half the bare rate, 2 workers", value=100 * pair.ratio, at_least=50.0, unit="%"),
                Goal(text="at most 0.25 ms of our CPU a question, 2 workers", value=work, at_most=0.25, unit="ms"),
            ]
    yield table
    yield _profile(setting, count)


class _Bench:
    """An engine and the journals that it fills."""

    def __init__(self, folder: Path, *, workers: int) -> None:
        self.work: list[float] = []
        """CPU milliseconds a question, one figure a call of `ask`."""
        self._store = LocalStore(folder / "journals")
        self._shards = (f"{workers}-{number:03d}" for number in itertools.count())
        launch = WorkerLaunch(
            python=Path(sys.executable),
            connection=("--import-path", "noop_agent:Agent"),
            env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'worker' / 'src'}:{folder}"},
            kwargs={},
            run_id=RUN_ID,
            log_dir=folder / "logs",
        )
        self.engine = Engine(launch, policy=ExecutionPolicy(parallelism=workers))

    def ask(self, engine: Engine, count: int) -> float:
        """Ask so many questions into a fresh journal; return the questions a second until the last is durable."""
        shard = next(self._shards)
        with open_journal(self._store, prefix="checkpoints", run_id=RUN_ID, shard=shard, flush_every=50) as journal:
            work, began = time.process_time(), time.perf_counter()
            result = engine.run(_executions(count), journal=journal, shard=shard)
            took = time.perf_counter() - began
        self.work.append((time.process_time() - work) / count * 1000)
        if result.answered != count:
            raise RuntimeError(f"{count - result.answered} of {count} questions were not answered.")
        return count / took


def _executions(count: int) -> Iterator[OpenExecution]:
    for number in range(count):
        yield OpenExecution(execution_id=f"{number:032x}", id=f"q{number}", question=f"What is {number} plus {number}?")


def _asks(count: int) -> list[bytes]:
    return [
        ask_line(number, one, kwargs={}, run_id=RUN_ID, attempt=1) for number, one in enumerate(_executions(count), 1)
    ]


def _reply() -> bytes:
    fields = '"answer":"What is 12345 plus 12345?","usage":null,"meta":null,"trajectory":null,"duration":1.2e-06'
    return f'{{"type":"result","request":12345,{fields}}}\n'.encode()


def _profile(setting: Setting, count: int) -> Table:
    """Say where the loop's thread spends its time, by module; 2 workers."""
    bench = _Bench(setting.folder, workers=2)
    profiler = cProfile.Profile()
    with bench.engine as engine:
        bench.ask(engine, 8)
        profiler.enable()
        bench.ask(engine, count)
        profiler.disable()
    spent: defaultdict[str, float] = defaultdict(float)
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    for (file, _, name), (_, _, own, _, _) in stats.items():
        spent[_part(file, name)] += own
    whole = sum(spent.values())
    return Table(
        title="Where the orchestrator's loop spends its time, 2 workers",
        columns=["part", "share %", "µs a question, as profiled"],
        rows=[
            [part, 100 * own / whole, own / count * 1e6]
            for part, own in sorted(spent.items(), key=lambda item: -item[1])[:14]
        ],
        notes=[
            "Profiling itself makes small Python functions look slower than they are; waiting is time without work."
        ],
    )


def _part(file: str, name: str) -> str:
    calls: Iterable[tuple[str, str]] = (
        ("epoll", "waiting for replies (epoll)"),
        ("select.", "waiting for replies (epoll)"),
        ("posix.write", "writing to pipes"),
        ("posix.read", "reading from pipes"),
        ("acquire", "waiting for the journal's thread"),
        ("to_json", "records to JSON (pydantic)"),
        ("model_dump_json", "records to JSON (pydantic)"),
        ("validate_python", "making records (pydantic)"),
        ("sha256", "trace ids"),
    )
    if file in ("~", ""):
        return next((part for word, part in calls if word in name), "other built-in calls")
    path = Path(file)
    ours = Path(bench_assets.__file__).parent
    if path.is_relative_to(ours):
        return str(path.relative_to(ours.parent))
    if path.is_relative_to(ROOT / "perf"):
        return "the measurement"
    return f"library {path.parent.name if path.stem == '__init__' else path.stem}"
