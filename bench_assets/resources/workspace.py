"""The workspace as a Dagster resource."""

import os
from pathlib import Path

import dagster as dg
from dagster_aws.s3 import S3Resource

from bench_assets.catalog.project import Project
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.workspace import Workspace


@dg.resource(required_resource_keys={"s3"}, description="The project: its store, environments and settings.")
def open_workspace(context: dg.InitResourceContext) -> Workspace:
    """Open the project of the current folder with this process's environment; progress goes to the run's log."""
    log = context.log
    reporter = LogReporter(log.info, detail=log.debug) if log else LogReporter(print, detail=lambda _: None)
    s3: S3Resource = context.resources.s3
    project = Project.find(os.environ, cwd=Path.cwd())
    return Workspace(project=project, environ=dict(os.environ), reporter=reporter, s3_client=s3.get_client)
