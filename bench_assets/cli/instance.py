"""Opens the Dagster instance of a project."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from bench_assets.catalog.project import Project
from bench_assets.errors import InvalidInput

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
    home = Path(os.environ.get("DAGSTER_HOME") or project.dagster_home)
    if not os.environ.get("DAGSTER_HOME"):
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "dagster.yaml").exists():
            (home / "dagster.yaml").write_text(SETTINGS, encoding="utf-8")
        os.environ["DAGSTER_HOME"] = str(home)
    elif not home.is_absolute() or not home.is_dir():
        raise InvalidInput(
            f"DAGSTER_HOME is `{home}`, which must be the absolute path of a folder that exists. Correct it, or "
            f"unset it to use {project.dagster_home}."
        )
    from dagster._core.instance.ref import InstanceRef

    from bench_assets.instance.sqlite import keeping_open

    try:
        instance = dg.DagsterInstance.from_ref(keeping_open(InstanceRef.from_dir(str(home))))
    except dg.DagsterError as error:
        reason = str(error).strip().splitlines()[0]
        raise InvalidInput(
            f"Dagster cannot open its instance in {home}: {reason} Look into its dagster.yaml."
        ) from error
    with instance:
        yield instance
