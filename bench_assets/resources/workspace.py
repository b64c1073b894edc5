"""The workspace as a Dagster resource."""

import os
from pathlib import Path
from typing import Any

import dagster as dg

from bench_assets.catalog.project import Project
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.workspace import Workspace


@dg.resource(
    description=(
        "The project: its store, environments and settings. Opens the project of the current folder with this "
        "process's environment; progress goes to the run's log. S3 is reached by Dagster's `S3Resource`, made when "
        "something on S3 is first asked for."
    )
)
def workspace_resource(context: dg.InitResourceContext) -> Workspace:
    """Return the workspace of one run. Raises InvalidInput when `BENCH_PROJECT` names no folder."""
    log = context.log
    reporter = LogReporter(log.info, detail=log.debug) if log else LogReporter(print, detail=lambda _: None)
    project = Project.find(os.environ, cwd=Path.cwd())
    return Workspace(project=project, environ=dict(os.environ), reporter=reporter, s3_client=_s3_client)


def _s3_client() -> Any:
    # Importing it costs more than Dagster itself does, and what only runs on a disk needs none of it.
    from dagster_aws.s3 import S3Resource

    from bench_assets.storage.s3 import told

    with told("reach", "S3"):
        return S3Resource().get_client()
