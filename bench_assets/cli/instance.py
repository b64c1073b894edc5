"""Opens the project and its Dagster instance."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from bench_assets.catalog.project import Project
from bench_assets.cli.progress import open_reporter
from bench_assets.stages.workspace import Workspace

SETTINGS = """\
# Dagster's settings for this project: everything below this folder, no telemetry, no welcome dialog.
telemetry:
  enabled: false
nux:
  enabled: false
"""


def open_project() -> Workspace:
    """Open the project of the current folder, reporting to standard error."""
    project = Project.find(os.environ, cwd=Path.cwd())
    return Workspace(project=project, environ=dict(os.environ), reporter=open_reporter())


@contextmanager
def open_instance(project: Project) -> Iterator[dg.DagsterInstance]:
    """Open the Dagster instance of `DAGSTER_HOME`, or the project's own in `dagster_home/`.

    Without either, Dagster would take a throw-away instance, and candidates would vanish between two commands.
    """
    if not os.environ.get("DAGSTER_HOME"):
        home = project.dagster_home
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "dagster.yaml").exists():
            (home / "dagster.yaml").write_text(SETTINGS, encoding="utf-8")
        os.environ["DAGSTER_HOME"] = str(home)
    with dg.DagsterInstance.get() as instance:
        yield instance
