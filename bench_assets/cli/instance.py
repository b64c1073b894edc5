"""Opens the Dagster instance of a project."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from bench_assets.catalog.project import Project

SETTINGS = """\
# Dagster's settings for this project: everything below this folder, no telemetry, no welcome dialog.
telemetry:
  enabled: false
nux:
  enabled: false
"""


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
