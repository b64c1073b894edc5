"""Opens the project that a command runs in."""

import os
from pathlib import Path

from bench_assets.catalog.project import Project
from bench_assets.cli.progress import open_reporter
from bench_assets.stages.workspace import Workspace


def open_project() -> Workspace:
    """Open the project of the current folder, reporting to standard error."""
    project = Project.find(os.environ, cwd=Path.cwd())
    return Workspace(project=project, environ=dict(os.environ), reporter=open_reporter())
