"""How long the commands take to start, and how long the definitions take to load beside a bare Dagster project's."""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from perf.harness import Goal, Setting, Table, in_turns
from perf.processes import SCRIPTS, run, variables

COMMANDS = {
    "`bench-assets --help`": ["--help"],
    "`bench-assets benchmarks`": ["benchmarks"],
    "`bench-assets validate …`": ["validate", "benchmarks/first/1.0"],
}

AT_MOST_SEC = 0.5
AT_MOST_TIMES = 1.2

HEAVY = ("dagster", "boto3", "sqlalchemy", "alembic", "numpy", "scipy", "openai", "psycopg2")
"""What no command without a run, and no loading of definitions, needs; Dagster is what the latter loads."""

COUNT = """
import sys
from bench_assets.cli.main import execute
assert execute(sys.argv[1:]) == 0
heavy = [name for name in {heavy!r} if name in sys.modules]
print("\\n" + str(len(sys.modules)), ",".join(heavy) or "none")
"""

LOAD = """
import sys, time
from {module} import defs
(defs() if callable(defs) else defs).get_repository_def()
print("\\n" + str(time.perf_counter()), time.process_time(), len(sys.modules))
"""
"""Tells when it has loaded: on the clock that its parent reads too."""

SPEC = 'name: {name}\nversion: "1.0"\ndescription: ten sums\njudge: {{type: exact_match}}\n'


def measure(setting: Setting) -> Iterator[Table]:
    """Measure the commands and the definitions."""
    project = setting.folder / "project"
    for name in ("first", "second"):
        folder = project / "benchmarks" / name / "1.0"
        folder.mkdir(parents=True)
        (folder / "benchmark.yaml").write_text(SPEC.format(name=name), encoding="utf-8")
        rows = "".join(f'{{"id": "q{n}", "question": "{n}+1?", "golden": "{n + 1}"}}\n' for n in range(10))
        (folder / "dataset.jsonl").write_text(rows, encoding="utf-8")
    environ = variables(
        setting.folder / "bytecode",
        PYTHONPATH=str(Path(__file__).parent.parent),
        PYTHONWARNINGS="ignore",  # Dagster's, about what is in beta
        DAGSTER_HOME=str(setting.folder),
    )
    yield _commands(setting, project, environ)
    yield _definitions(setting, project, environ)


class _Starts:
    """Runs one command at each call, and returns how long it took."""

    def __init__(self, command: list[str | Path], project: Path, environ: dict[str, str]) -> None:
        self._command, self._cwd, self._environ = command, project, environ
        self.works: list[float] = []
        """CPU seconds of each call."""
        self()  # compiles what it imports
        self.works.clear()

    def __call__(self) -> float:
        took = run(self._command, cwd=self._cwd, environ=self._environ)
        self.works.append(took.work)
        return took.wall


def _commands(setting: Setting, project: Path, environ: dict[str, str]) -> Table:
    table = Table(
        title="Start-up of a command, a fresh process each time, beside `python -c pass`",
        columns=["command", "seconds", "`python -c pass`", "CPU seconds", "modules", "heavy ones among them"],
    )
    for shown, arguments in COMMANDS.items():
        setting.note(shown)
        ours = _Starts([SCRIPTS / "bench-assets", *arguments], project, environ)
        bare = _Starts([sys.executable, "-c", "pass"], project, environ)
        pair = in_turns(ours, bare, rounds=setting.rounds)
        counting = [sys.executable, "-c", COUNT.format(heavy=HEAVY), *arguments]
        count, heavy = run(counting, cwd=project, environ=environ).output.split()[-2:]
        table.rows.append([shown, *pair.medians, statistics.median(ours.works), int(count), heavy])
        table.goals.append(
            Goal(text=f"{shown} in {AT_MOST_SEC} s", value=pair.medians[0], at_most=AT_MOST_SEC, unit="s")
        )
    table.notes.append(f"Heavy: {', '.join(HEAVY)}.")
    return table


def _definitions(setting: Setting, project: Path, environ: dict[str, str]) -> Table:
    setting.note("the definitions")
    modules = ("bench_assets.definitions", "perf.bare_definitions")
    counts: dict[str, int] = {}
    works: dict[str, list[float]] = {module: [] for module in modules}

    def load(module: str) -> float:
        began = time.perf_counter()
        took = run([sys.executable, "-c", LOAD.format(module=module)], cwd=project, environ=environ)
        loaded, work, count = took.output.split()[-3:]
        counts[module] = int(count)
        works[module].append(float(work))
        return float(loaded) - began

    for module in modules:
        load(module)
        works[module].clear()
    pair = in_turns(lambda: load(modules[0]), lambda: load(modules[1]), rounds=setting.rounds)
    table = Table(
        title="Loading the definitions of two benchmarks, beside a bare Dagster project of the same shape",
        columns=["", "seconds from the process's start", "CPU seconds", "modules"],
    )
    for name, module, seconds in zip(("bench-assets", "bare Dagster"), modules, pair.medians, strict=True):
        table.rows.append([name, seconds, statistics.median(works[module]), counts[module]])
    table.rows.append(["ratio, and its spread", pair.ratio, pair.spread, counts[modules[0]] - counts[modules[1]]])
    table.goals.append(Goal(text="at most 1.2 times the bare project", value=pair.ratio, at_most=AT_MOST_TIMES))
    table.notes.append(
        "The bare one, `perf/bare_definitions.py`, has as many assets with the same keys, dependencies, partitions and "
        "settings in the launchpad, a check and a sensor; their bodies are empty."
    )
    return table
