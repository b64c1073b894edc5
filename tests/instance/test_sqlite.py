"""Dagster's SQLite files as our commands use them: the same files, with anybody else at work in them."""

import sqlite3

import dagster as dg
import pytest

from bench_assets.catalog.project import Project
from bench_assets.cli.instance import open_instance
from bench_assets.instance.sqlite import EventLog, Runs

candidates = dg.DynamicPartitionsDefinition(name="candidates")


@dg.asset(partitions_def=candidates)
def thing() -> None: ...


JOB = dg.Definitions(assets=[thing], jobs=[dg.define_asset_job("make", [thing])]).resolve_job_def("make")


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path):
    return Project.find({"BENCH_PROJECT": str(tmp_path)}, cwd=tmp_path)


def make(instance: dg.DagsterInstance, key: str) -> str:
    """Run the job for a candidate; return the run's id."""
    instance.add_dynamic_partitions("candidates", [key])
    return JOB.execute_in_process(instance=instance, partition_key=key).run_id


def seen(instance: dg.DagsterInstance, run_id: str) -> tuple[str, int, set[str]]:
    """Return a run's status, how many events it has, and which candidates are materialized."""
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status.value, len(instance.all_logs(run_id)), set(instance.get_materialized_partitions(thing.key))


def test_dagsters_own_storage_sees_a_run_of_ours_at_once_and_afterwards(home, project):
    with open_instance(project) as ours:
        assert isinstance(ours.event_log_storage, EventLog)
        assert isinstance(ours.run_storage, Runs)
        run_id = make(ours, "a@1")
        with dg.DagsterInstance.get() as plain:
            assert seen(plain, run_id) == seen(ours, run_id)
            other = make(plain, "b@1")
        assert seen(ours, other)[2] == {"a@1", "b@1"}
        during = seen(ours, run_id)
    with dg.DagsterInstance.get() as plain:
        assert seen(plain, run_id) == during
        assert during[:1] == ("SUCCESS",)


def test_a_home_that_dagster_made_is_taken_as_it_is(home, project):
    with dg.DagsterInstance.get() as plain:
        before = make(plain, "a@1")
        expected = seen(plain, before)
    with open_instance(project) as ours:
        assert seen(ours, before) == expected
        make(ours, "b@1")


def test_the_file_of_a_new_run_is_what_dagster_would_have_made(home, project):
    with dg.DagsterInstance.get() as plain:
        theirs = make(plain, "a@1")
    with open_instance(project) as ours:
        own = make(ours, "b@1")
    schemas = []
    for run_id in (theirs, own):
        with sqlite3.connect(home / "history" / "runs" / f"{run_id}.db") as file:
            tables = file.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
            revision = file.execute("SELECT version_num FROM alembic_version").fetchall()
            schemas.append((tables, revision, file.execute("PRAGMA journal_mode").fetchone()))
        file.close()
    assert schemas[0] == schemas[1]
    assert not [
        file for file in (home / "history" / "runs").iterdir() if file.name.startswith(".") or "-wal" in file.name
    ]


def test_the_folder_that_dagster_yaml_names_is_used(home, project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (home / "dagster.yaml").write_text(f"storage: {{sqlite: {{base_dir: {elsewhere}}}}}\n", encoding="utf-8")
    with open_instance(project) as ours:
        run_id = make(ours, "a@1")
    assert (elsewhere / "history" / "runs" / f"{run_id}.db").exists()


def test_storages_that_a_home_chose_itself_are_left_alone(home, project):
    chosen = (
        "{module: dagster._core.storage.event_log, class: ConsolidatedSqliteEventLogStorage, config: {base_dir: %s}}"
    )
    (home / "dagster.yaml").write_text(f"event_log_storage: {chosen % home}\n", encoding="utf-8")
    with open_instance(project) as ours:
        assert not isinstance(ours.event_log_storage, EventLog)


def test_where_a_file_cannot_be_linked_dagster_makes_it(home, project, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("bench_assets.instance.sqlite.os.link", refuse)
    with open_instance(project) as ours:
        run_id = make(ours, "a@1")
        assert seen(ours, run_id)[0] == "SUCCESS"
    assert not [file for file in (home / "history" / "runs").iterdir() if file.name.startswith(".")]
