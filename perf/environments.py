"""What an agent's environment costs: built, found again, and wanted by eight processes at once."""

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench_assets.environments.cache import EnvironmentCache, EnvironmentRequest, default_worker_source
from bench_assets.environments.source import parse_source
from bench_assets.environments.source_records import LocalSource
from perf.harness import Goal, Setting, Table, in_turns, seconds
from perf.processes import variables

PROJECT = """\
[build-system]
requires = ["uv_build>=0.9,<0.15"]
build-backend = "uv_build"

[project]
name = "perf-agent"
version = "1.0"
requires-python = ">=3.9"
dependencies = ["httpx==0.28.1", "pydantic==2.11.7", "pyyaml==6.0.2", "rich==14.0.0"]

[project.entry-points.bench_agents]
agent = "perf_agent:make_agent"
"""

AT_ONCE = 8

ROOT = Path(__file__).parent.parent


def measure(setting: Setting) -> Iterator[Table]:
    """Measure building beside uv alone, reusing, and eight processes at once."""
    agent = setting.folder / "agent"
    (agent / "src" / "perf_agent").mkdir(parents=True)
    (agent / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (agent / "src" / "perf_agent" / "__init__.py").write_text("def make_agent(): return None\n", encoding="utf-8")
    yield _cold(setting, agent)
    yield _reused(setting, agent)
    yield _shared(setting, agent)


def request(agent: Path) -> EnvironmentRequest:
    """Return the request for the agent in a folder, with our own worker."""
    return EnvironmentRequest(
        candidate="perf@local",
        source=parse_source(str(agent), base=agent),
        worker=default_worker_source(),
        entry_point="agent",
    )


def _cold(setting: Setting, agent: Path) -> Table:
    setting.note("a cold build beside uv alone")
    environ = variables(setting.folder / "bytecode")
    worker = default_worker_source()
    assert isinstance(worker, LocalSource)
    packages = 0

    def alone() -> float:
        folder = setting.folder / "alone"
        took = seconds(lambda: _by_uv(folder, (agent, worker.path), environ=environ))
        shutil.rmtree(folder)
        return took

    def ours() -> float:
        nonlocal packages
        root = setting.folder / "cold"
        with EnvironmentCache(root, environ=environ) as cache:
            built = cache.ensure(request(agent))
        assert not built.reused
        packages = built.record.package_count
        shutil.rmtree(root)
        return built.seconds

    ours()  # fills uv's cache
    alone()
    pair = in_turns(ours, alone, rounds=setting.rounds)
    table = Table(
        title="A cold build beside `uv venv` and `uv pip install` of the same set, from one warm uv cache",
        columns=["", "seconds, median", "ratio", "its spread"],
        rows=[["agent_environment's build", pair.medians[0], pair.ratio, pair.spread]],
        goals=[Goal(text="at most 1.15 times uv alone", value=pair.ratio, at_most=1.15)],
    )
    table.rows.append(["uv alone", pair.medians[1], None, None])
    table.notes.append(
        f"{packages} packages: an agent in a folder, httpx, pydantic, PyYAML, rich, what they need, and our worker. "
        "Ours also digests and copies the folders, lists what came of it, starts its Python, and publishes it under a "
        "lock. Neither compiles to bytecode."
    )
    return table


def _by_uv(folder: Path, sources: Sequence[Path], *, environ: dict[str, str]) -> None:
    from uv import find_uv_bin

    uv, python = find_uv_bin(), folder / "venv" / "bin" / "python"
    venv = [uv, "venv", "--quiet", "--no-project", f"--python={sys.executable}", str(folder / "venv")]
    install = [uv, "pip", "install", "--quiet", f"--python={python}", *map(str, sources)]
    for command in (venv, install):
        subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, check=True, timeout=600)


def _reused(setting: Setting, agent: Path) -> Table:
    setting.note("reuse")
    environ, root = variables(setting.folder / "bytecode"), setting.folder / "reused"
    with EnvironmentCache(root, environ=environ) as cache:
        cache.ensure(request(agent))
    times = []
    for _ in range(max(5, setting.rounds)):
        with EnvironmentCache(root, environ=environ) as cache:
            built = cache.ensure(request(agent))
        assert built.reused
        times.append(built.seconds * 1000)
    return Table(
        title="Finding an environment that is there, its sources looked at again",
        columns=["", "ms, median", "ms, least", "ms, most"],
        rows=[["an environment of a folder", statistics.median(times), min(times), max(times)]],
        goals=[Goal(text="under 50 ms", value=statistics.median(times), at_most=50, unit="ms")],
    )


def _shared(setting: Setting, agent: Path) -> Table:
    count = 2 if setting.quick else AT_ONCE
    setting.note(f"{count} processes at once")
    environ = variables(setting.folder / "bytecode", PYTHONPATH=str(ROOT))
    table = Table(
        title=f"{count} processes that want the same environment at once",
        columns=["round", "builds", "generations on disk", "builder, s", "others, s, median", "others, s, most"],
    )
    most_builds, late = 0, []
    for number in range(setting.rounds):
        root = setting.folder / f"shared-{number}"
        start = time.time() + 1.5  # all have imported by then
        command = [sys.executable, "-m", "perf.environments", str(root), str(agent), repr(start)]
        children = [
            subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        told = [json.loads(child.communicate(timeout=600)[0]) for child in children]
        if any(child.returncode for child in children):
            raise RuntimeError("a process ended without its environment, see above")
        builder = [one["seconds"] for one in told if not one["reused"]]
        others = [one["seconds"] for one in told if one["reused"]]
        on_disk = len([folder for folder in root.glob("*/*") if not folder.is_symlink() and (folder / "venv").exists()])
        most_builds = max(most_builds, len(builder), on_disk)
        table.rows.append([number + 1, len(builder), on_disk, max(builder), statistics.median(others), max(others)])
        late.append(max(others) - max(builder))
        shutil.rmtree(root)
    table.goals.append(Goal(text="exactly one build", value=most_builds, at_most=1, at_least=1))
    table.notes.append(
        "Builds are those that say that they built, and the folders that were made. The last of the others had its "
        f"environment {statistics.median(late) * 1000:.0f} ms after the builder (median)."
    )
    return table


def _want(root: Path, agent: Path, start: float) -> None:
    """Be one of several processes."""
    wanted = request(agent)
    time.sleep(max(0.0, start - time.time()))
    with EnvironmentCache(root) as cache:
        built = cache.ensure(wanted)
    sys.stdout.write(json.dumps({"seconds": built.seconds, "reused": built.reused}))


if __name__ == "__main__":
    _want(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
