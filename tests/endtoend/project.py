"""A small project of a user's, made in a temporary folder, and ways to drive it."""

import json
import os
import subprocess
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from bench_assets.cli.main import execute

PYPROJECT = """\
[build-system]
requires = ["uv_build>=0.9,<0.15"]
build-backend = "uv_build"

[project]
name = "{name}"
version = "1.0"
requires-python = ">=3.9"
dependencies = {dependencies}

[project.entry-points.bencher_agents]
agent = "{module}:make_agent"
"""

ECHO = """\
class Agent:
    def run(self, question, **kwargs):
        return question.upper()

def make_agent():
    return Agent()
"""
"""An agent that answers in capitals."""


def write_package(
    folder: Path, source: str, *, name: str = "my-agent", dependencies: tuple[str, ...] = (), is_agent: bool = True
) -> Path:
    """Write an installable package whose only module holds `source`. Builds without a network."""
    module = name.replace("-", "_")
    (folder / "src" / module).mkdir(parents=True, exist_ok=True)
    (folder / "src" / module / "__init__.py").write_text(source, encoding="utf-8")
    pyproject = PYPROJECT.format(name=name, module=module, dependencies=json.dumps(list(dependencies)))
    if not is_agent:
        pyproject = pyproject.partition("[project.entry-points")[0]
    (folder / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    return folder


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, apart from the user's own settings."""
    identity = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**os.environ, **identity, **nobody},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


def commit(folder: Path, message: str, *, tag: str | None = None) -> str:
    """Commit everything in a folder, making it a repository first. Returns the commit's id."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    if tag:
        git(folder, "tag", tag)
    return git(folder, "rev-parse", "HEAD")


@dataclass
class UserProject:
    """A folder with benchmarks and agents, a Dagster home and a storage of its own."""

    folder: Path
    cache: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def storage(self) -> Path:
        return self.folder / ".bench"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a user's shell in this project."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("BENCH", "DAGSTER", "OPENAI"))
        }
        own = {
            "BENCH_PROJECT": str(self.folder),
            "BENCH_CACHE_DIR": str(self.cache),
            "DAGSTER_HOME": str(self.folder / "dagster_home"),
        }
        return {**kept, **own, **self.variables}

    def benchmark(
        self, rows: list[dict[str, Any]], *, name: str = "quiz", judge: str = "{type: exact_match}", extra: str = ""
    ) -> str:
        """Write a benchmark. Returns its `name@version`."""
        folder = self.folder / "benchmarks" / name / "1.0"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "benchmark.yaml").write_text(
            f'name: {name}\nversion: "1.0"\njudge: {judge}\nshards: 2\nparallelism: 2\nretries: 0\n{extra}',
            encoding="utf-8",
        )
        (folder / "dataset.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return f"{name}@1.0"

    def agents(self, text: str) -> None:
        """Write agents.yaml."""
        (self.folder / "agents.yaml").write_text(text, encoding="utf-8")

    def cli(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run `bench-assets` in this process, as if from the project's folder and the user's shell.

        Importing Dagster takes seconds, so only tests of a process's own life (signals, logs) use `program`.
        """
        out, err, here, before, inside = StringIO(), StringIO(), Path.cwd(), dict(os.environ), self.environ
        try:
            os.chdir(self.folder)
            os.environ.clear()
            os.environ.update(inside)
            with redirect_stdout(out), redirect_stderr(err):
                code = execute(list(arguments))
        finally:
            os.environ.clear()
            os.environ.update(before)
            os.chdir(here)
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    def program(self, *command: str, timeout: float = 150) -> subprocess.CompletedProcess[str]:
        """Run any command as the user would."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def runs(self) -> list[Path]:
        """Return the folders of the runs, oldest first."""
        # Not by their run_ids: two runs of one second differ in random digits only.
        return sorted(
            (self.storage / "runs").iterdir(), key=lambda run: strict((run / "run.json").read_text())["start_time"]
        )


def records(path: Path) -> list[dict[str, Any]]:
    """Read a `.jsonl` as strictly as any reader might."""
    return [strict(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def strict(text: str) -> Any:
    """Parse JSON, refusing NaN and infinities."""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def quiz(count: int = 4) -> list[dict[str, Any]]:
    """Return questions `q1 …` whose golden is their capitals, but for every fourth."""
    return [
        {"id": f"q{n}", "question": f"word {n}", "golden": "never" if n % 4 == 0 else f"WORD {n}"}
        for n in range(1, count + 1)
    ]


def workers_with(variable: str) -> list[int]:
    """Return the live processes of workers that were started with `NAME=value` in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            variables = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if variable.encode() in variables and any(item.startswith(b"BENCH_WORKER=") for item in variables):
                found.append(int(entry.name))
        except OSError:  # gone meanwhile
            continue
    return found


def wait_until_gone(variable: str, *, timeout: float = 10) -> list[int]:
    """Wait for those processes to end. Returns the ones that did not."""
    deadline = time.monotonic() + timeout
    while (left := workers_with(variable)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left
