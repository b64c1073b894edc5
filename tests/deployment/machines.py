"""Machines of a team: each with a home, a cache and a copy of the project of its own; one S3, one Postgres."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.endtoend.project import UserProject

DAGSTER_YAML = """\
storage:
  postgres:
    postgres_url: {env: DAGSTER_POSTGRES_URL}
telemetry: {enabled: false}
"""

COUNTING = """\
import os
import time

class Agent:
    def run(self, question):
        while os.path.exists(os.environ["ASKED"] + ".hold"):
            time.sleep(0.05)
        with open(os.environ["ASKED"], "a") as asked:
            asked.write(question + "\\n")
        time.sleep(float(os.environ.get("SLOWLY", "0")))
        return question.upper()

def make_agent():
    return Agent()
"""
"""An agent that notes each question that it is asked; it takes none while there is a file `$ASKED.hold`."""


class Machine:
    """One of them. Its programs see only what a container of its own would have."""

    def __init__(self, folder: Path, project: UserProject, variables: Mapping[str, str]) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.project = folder / "project"
        shutil.copytree(project.folder, self.project, ignore=shutil.ignore_patterns(".bench", "agent", "dagster_home"))
        (self.home / "dagster.yaml").write_text(DAGSTER_YAML, encoding="utf-8")
        kept = {
            name: value for name, value in project.environ.items() if not name.startswith(("BENCH_", "XDG_", "UV_"))
        }
        self.environ = {**kept, "HOME": str(self.home), "DAGSTER_HOME": str(self.home), **variables}

    def materialize(self, *names: str, partition: str) -> "subprocess.Popen[str]":
        """Start materializing assets of quiz@1.0, as a pod would."""
        select = ",".join(f"quiz/1.0/{name}" for name in names)
        program = str(Path(sys.executable).parent / "dagster")
        command = [
            "asset",
            "materialize",
            "-m",
            "bench_assets.definitions",
            "--select",
            select,
            "--partition",
            partition,
        ]
        return subprocess.Popen(
            [program, *command],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def environments(self) -> set[Path]:
        """What its cache holds; `current` is a link to one of them."""
        return {path.resolve() for path in (self.home / ".cache" / "bench-assets" / "environments").glob("*/*/venv")}
