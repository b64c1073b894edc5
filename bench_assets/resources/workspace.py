"""The workspace as a Dagster resource."""

import os
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_aws.s3 import S3Resource

from bench_assets.catalog.project import Project
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.s3 import told


class WorkspaceResource(dg.ConfigurableResource[Workspace]):
    """The project: its store, environments and settings.

    Opens the project of the current folder with this process's environment; progress goes to the run's log.
    """

    s3: dg.ResourceDependency[S3Resource]
    """How S3 is reached. Nested, as steps are handed an S3 client of it, made whether or not one is needed."""

    def create_resource(self, context: dg.InitResourceContext) -> Workspace:
        """Return the workspace of one run. Raises InvalidInput when `BENCH_PROJECT` names no folder."""
        log = context.log
        reporter = LogReporter(log.info, detail=log.debug) if log else LogReporter(print, detail=lambda _: None)
        project = Project.find(os.environ, cwd=Path.cwd())
        return Workspace(project=project, environ=dict(os.environ), reporter=reporter, s3_client=self._client)

    def _client(self) -> Any:
        with told("reach", "S3"):
            return self.s3.get_client()
