"""A whole `bench-assets run` of questions that cost nothing, beside Inspect AI and promptfoo; where its time goes."""

import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from perf.harness import Goal, Setting, Table, shown
from perf.peers import Peer, installed
from perf.processes import SCRIPTS, Took, run, variables
from tests.endtoend.project import write_package

SIZES = (100, 500, 1000, 5000)
QUICK_SIZES = (10, 20)

FEWER_MS = 50
"""How many times less a question is to cost than with a peer."""

ROUNDS_AT_MOST = 5
"""Of a peer at the greatest size, where one run of one takes a minute."""

AGENT = """\
class Echo:
    def run(self, question):
        return question

def make_agent():
    return Echo()
"""

OURS = "bench-assets"


Figures = dict[tuple[str, int], list[Took]]
"""What each took, by name and number of questions, a figure a round."""


def measure(setting: Setting) -> Iterator[Table]:
    """Measure whole runs, then the parts of ours."""
    project = Project(setting)
    yield from _beside(setting, project)
    yield _parts(setting, project)


class Project:
    """A person's project: an agent that gives back the question, and a benchmark for each run: all are first ones."""

    def __init__(self, setting: Setting) -> None:
        self.folder = setting.folder / "project"
        self.sizes = QUICK_SIZES if setting.quick else SIZES
        write_package(self.folder / "agent", AGENT)
        for size in self.sizes:
            rows = [{"id": f"q{n}", "question": f"What is {n}?", "golden": f"What is {n}?"} for n in range(size)]
            self.dataset(size).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self.environ = variables(
            setting.folder / "bytecode",
            BENCH_PROJECT=str(self.folder),
            BENCH_CACHE_DIR=str(setting.folder / "cache"),
            PYTHONPATH=str(Path(__file__).parent.parent),
        )
        self._runs = 0

    def dataset(self, size: int) -> Path:
        """Return the file of so many questions."""
        return self.folder / f"{size}.jsonl"

    def command(self, size: int) -> list[str]:
        """Return the arguments of `bench-assets` for a first run of so many questions."""
        self._runs += 1
        name = f"questions-{self._runs}"
        folder = self.folder / "benchmarks" / name / "1.0"
        folder.mkdir(parents=True)
        shutil.copy(self.dataset(size), folder / "dataset.jsonl")
        spec = f'name: {name}\nversion: "1.0"\njudge: {{type: exact_match}}\n'
        (folder / "benchmark.yaml").write_text(spec, encoding="utf-8")
        return ["run", "--benchmark", f"{name}@1.0", "--agent", "./agent", "--agent-entry-point", "agent"]

    def run(self, size: int) -> Took:
        """Return what one whole run took."""
        took = run([SCRIPTS / "bench-assets", *self.command(size)], cwd=self.folder, environ=self.environ)
        if f"{size} of {size}" not in took.output:
            raise RuntimeError(f"not every answer was right:\n{took.output}")
        return took


def _beside(setting: Setting, project: Project) -> Iterator[Table]:
    peers, missing = installed()
    runners: dict[str, Callable[[int], Took]] = {OURS: project.run}
    runners |= {peer.name: _PeerRuns(peer, setting, project) for peer in peers}
    for name, runner in runners.items():
        setting.note(f"a first run of {name}, which is not counted")
        runner(project.sizes[0])
    figures: Figures = {(name, size): [] for name in runners for size in project.sizes}
    for number in range(setting.rounds):
        names = list(runners)[number % len(runners) :] + list(runners)[: number % len(runners)]
        for size in project.sizes:
            for name in names:
                if name != OURS and size == max(project.sizes) and number >= ROUNDS_AT_MOST:
                    continue
                took = runners[name](size)
                figures[name, size].append(took)
                said = f"{took.wall:.2f} s, {took.work:.2f} s of CPU"
                setting.note(f"round {number + 1}: {size} questions, {name}: {said}")
    notes = [
        *missing,
        "Questions that answer themselves: an agent, solver or provider that returns the question at once, scored by "
        f"equality. {OURS} ran `bench-assets run` with its defaults, in a project with an environment and a Dagster "
        "instance that were there; its rows went to its own Postgres, started and ended in each run.",
        *(f"{peer.name} ran with `{peer.options}`." for peer in peers),
    ]
    yield _totals(project, peers, figures, notes)
    yield _slopes(project, peers, figures)


class _PeerRuns:
    """Runs a peer at each call, in a folder of its own."""

    def __init__(self, peer: Peer, setting: Setting, project: Project) -> None:
        self._peer, self._project, self._place = peer, project, setting.folder / "peers"
        self._place.mkdir(exist_ok=True)
        self._environ = {**project.environ, "PROMPTFOO_PYTHON": sys.executable}

    def __call__(self, size: int) -> Took:
        folder = self._place / "run"
        folder.mkdir()
        try:
            return self._peer.evaluate(self._project.dataset(size), folder, self._environ)
        finally:
            shutil.rmtree(folder)


def _totals(project: Project, peers: Sequence[Peer], figures: Figures, notes: list[str]) -> Table:
    table = Table(
        title="Seconds of a whole run, a fresh process each time, by the number of questions",
        columns=["questions", OURS, *(column for peer in peers for column in (peer.name, "times ours, spread"))],
        notes=notes,
    )
    for size in project.sizes:
        ours = [took.wall for took in figures[OURS, size]]
        row: list[str | float | int] = [size, statistics.median(ours)]
        for peer in peers:
            theirs = [took.wall for took in figures[peer.name, size]]
            ratios = [one / other for one, other in zip(theirs, ours, strict=False)]
            ratio = statistics.median(ratios)
            row += [
                statistics.median(theirs),
                f"{shown(ratio)} ({shown(min(ratios))} – {shown(max(ratios))})",
            ]
            if peer.name.startswith("Inspect") or size >= 500:
                text = f"{size} questions no slower than {peer.name}"
                table.goals.append(Goal(text=text, value=ratio, at_least=1, unit="times as fast"))
        table.rows.append(row)
    return table


def _slopes(project: Project, peers: Sequence[Peer], figures: Figures) -> Table:
    least, most = min(project.sizes), max(project.sizes)

    def slopes(name: str, of: Callable[[Took], float]) -> list[float]:
        ends = zip(figures[name, least], figures[name, most], strict=False)
        return [(of(many) - of(few)) / (most - least) * 1000 for few, many in ends]

    table = Table(
        title=f"What one more question costs: between {least:,} and {most:,}",
        columns=["", "ms a question", "least – most", "times ours", "CPU ms a question", "times ours"],
    )
    own_walls, own_works = slopes(OURS, _wall), slopes(OURS, _work)
    for name in (OURS, *(peer.name for peer in peers)):
        walls, works = slopes(name, _wall), slopes(name, _work)
        ratio, of_work = _ratio(walls, own_walls), _ratio(works, own_works)
        spread = f"{shown(min(walls))} – {shown(max(walls))}"
        table.rows.append([name, statistics.median(walls), spread, ratio, statistics.median(works), of_work])
        if name != OURS:
            text = f"{FEWER_MS} times less than {name}"
            table.goals.append(Goal(text=text, value=ratio, at_least=FEWER_MS, unit="times"))
    table.notes.append("CPU time is that of the process and of all that it waited for; not of our Postgres server.")
    return table


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(theirs, ours, strict=False))


def _wall(took: Took) -> float:
    return took.wall


def _work(took: Took) -> float:
    return took.work


def _parts(setting: Setting, project: Project) -> Table:
    few, many = min(project.sizes), max(project.sizes)
    found: dict[int, list[dict[str, float]]] = {few: [], many: []}
    for number in range(min(3, setting.rounds)):
        for size, kept in found.items():
            setting.note(f"round {number + 1}: the parts of a run of {size} questions")
            result = setting.folder / "parts.json"
            command = [sys.executable, "-m", "perf.sampling", str(result), *project.command(size)]
            run(command, cwd=project.folder, environ=project.environ)
            kept.append(json.loads(result.read_text(encoding="utf-8")))
    names = {name: None for runs in found.values() for one in runs for name in one}
    seconds = {
        size: {name: statistics.median(one.get(name, 0.0) for one in runs) for name in names}
        for size, runs in found.items()
    }
    totals = {size: sum(parts.values()) for size, parts in seconds.items()}
    table = Table(
        title="Where a run's time goes",
        columns=["part", f"{few:,} questions, s", "share", f"{many:,} questions, s", "share", "ms more a question"],
    )
    for name in sorted(names, key=lambda name: -seconds[many][name]):
        row: list[str | float] = [name]
        for size in (few, many):
            row += [seconds[size][name], f"{seconds[size][name] / totals[size]:.0%}"]
        table.rows.append([*row, (seconds[many][name] - seconds[few][name]) / (many - few) * 1000])
    total = (totals[many] - totals[few]) / (many - few) * 1000
    table.rows.append(["all, from the first import", totals[few], "100%", totals[many], "100%", total])
    table.notes.append(
        "By looks at the main thread's stack every two milliseconds (`perf/sampling.py`); an import that a step makes "
        "counts as importing. The looks cost some time themselves."
    )
    return table
