"""The embedded Postgres that a command keeps up while its last steps need it."""

import pytest

from bench_assets.catalog.project import Project
from bench_assets.cli.standby import StandBy
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.postgres import programs
from bench_assets.storage.postgres.database import Database
from bench_assets.storage.postgres.embedded import EmbeddedPostgres
from tests.services.opt_out import unless_opted_out


@pytest.fixture
def workspace(tmp_path):
    reporter = LogReporter(lambda _: None, detail=lambda _: None)
    opened = Workspace(
        project=Project.find({"BENCH_PROJECT": str(tmp_path)}, cwd=tmp_path), environ={}, reporter=reporter
    )
    with unless_opted_out("postgres"):
        yield opened
    EmbeddedPostgres(opened.postgres_folder).stop()


@pytest.fixture
def starts(monkeypatch):
    """How often a server was started."""
    counted = []
    start = programs.start
    monkeypatch.setattr(programs, "start", lambda *args, **kwargs: (counted.append(1), start(*args, **kwargs)))
    return counted


def test_steps_one_after_the_other_share_one_start_and_nothing_is_left_behind(workspace, starts):
    with StandBy(workspace):
        for _ in range(3):
            with Database.open(None, embedded_root=workspace.postgres_folder) as database:
                database.upgrade()
    assert len(starts) == 1
    assert not (workspace.postgres_folder / "data" / "postmaster.pid").exists()


def test_a_postgres_that_cannot_start_is_the_steps_to_tell(workspace, starts):
    workspace.postgres_folder.parent.mkdir(parents=True, exist_ok=True)
    workspace.postgres_folder.write_text("a file where the folder would be", encoding="utf-8")
    with StandBy(workspace):
        pass
    assert not starts
    workspace.postgres_folder.unlink()


def test_the_persons_own_postgres_is_left_alone(tmp_path, starts):
    project = Project.find(
        {"BENCH_PROJECT": str(tmp_path), "BENCH_POSTGRES_URL": "postgresql://nobody@127.0.0.1:1/none"}, cwd=tmp_path
    )
    reporter = LogReporter(lambda _: None, detail=lambda _: None)
    with StandBy(Workspace(project=project, environ={}, reporter=reporter)):
        pass
    assert not starts
