"""From BENCH_POSTGRES_URL to a database with our tables in it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text
from sqlalchemy.pool import NullPool

import bench_assets.storage.postgres
from bench_assets.errors import InvalidInput, StorageFailed
from bench_assets.storage.postgres import schema
from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.database import Database
from bench_assets.storage.postgres.upgrade import HEAD, REVISION_TABLE
from tests.services.free_ports import free_ports
from tests.services.postgres import new_database
from tests.storage.records import executions, run_record, summary

NOWHERE = Path("/nowhere/postgres")
MIGRATIONS = Path(bench_assets.storage.postgres.__path__[0]) / "migrations"


def opened(url: str) -> Database:
    return Database.open(url, embedded_root=NOWHERE)


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    """A connection of somebody else to the same database; each statement commits."""
    engine = create_engine(parse_url(database_url), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg2"])
def test_every_usual_spelling_of_the_url_works(database_url: str, scheme: str) -> None:
    with opened(database_url.replace("postgresql", scheme, 1)) as database:
        assert database.upgrade()
        assert database.url.startswith("postgresql+psycopg2://")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hush@h/db",
        "postgresql+asyncpg://u:hush@h/db",
        "postgresql://u:hush:55@h:port/db",
        "hush",
        "sqlite:///x.db",
        "s3://hush/x",
    ],
)
def test_what_is_no_url_of_a_postgres_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InvalidInput, match="BENCH_POSTGRES_URL is not the URL of a Postgres") as caught:
        opened(url)
    assert "hush" not in str(caught.value)


def test_a_wrong_password_is_a_sentence_without_it(database_url: str) -> None:
    url = parse_url(database_url)
    wrong = url.set(password="hush hush").render_as_string(hide_password=False)
    with pytest.raises(
        StorageFailed, match=f"`127.0.0.1:{url.port}`, database `{url.database}`: .*authentication"
    ) as caught:
        opened(wrong)
    assert "hush" not in str(caught.value)


def test_a_port_where_nobody_listens_is_a_sentence() -> None:
    (port,) = free_ports(1)
    with pytest.raises(
        StorageFailed, match=f"Could not connect to Postgres at `127.0.0.1:{port}`, database `db`.*refused"
    ):
        opened(f"postgresql://u:hush@127.0.0.1:{port}/db")


def test_processes_that_upgrade_at_once_upgrade_once(database_url: str) -> None:
    def upgrade(_: int) -> bool:
        with opened(database_url) as database:
            return database.upgrade()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(upgrade, range(4))) == [False, False, False, True]


def test_the_migrations_make_the_tables_that_the_code_expects(database_url: str, connection: Connection) -> None:
    with opened(database_url) as database:
        database.upgrade()
    context = MigrationContext.configure(connection, opts={"version_table": REVISION_TABLE, "compare_type": True})
    assert compare_metadata(context, schema.metadata) == []
    found = inspect(connection)
    for name, table in schema.metadata.tables.items():
        nullable = {column["name"]: column["nullable"] for column in found.get_columns(name)}
        assert nullable == {column.name: column.nullable for column in table.columns}


def test_the_newest_migration_is_the_one_that_the_code_names_and_can_be_taken_back(
    database_url: str, connection: Connection
) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]
    with opened(database_url) as database:
        database.upgrade()
    config.attributes["connection"] = connection
    command.downgrade(config, "base")
    assert inspect(connection).get_table_names() == [REVISION_TABLE]
    assert inspect(connection).get_view_names() == []


def test_tables_of_somebody_else_are_not_touched(database_url: str, connection: Connection) -> None:
    connection.execute(text("CREATE TABLE runs (id int)"))
    with opened(database_url) as database, pytest.raises(StorageFailed, match=r"tables of somebody else .*`runs`"):
        database.upgrade()


def test_a_schema_of_our_own_keeps_us_apart(database_url: str, connection: Connection) -> None:
    connection.execute(text("CREATE TABLE runs (id int)"))
    connection.execute(text("CREATE SCHEMA bench"))
    with opened(f"{database_url}?options=-csearch_path%3Dbench") as database:
        assert database.upgrade()
        assert database.store_run(run_record(), summary(), executions()) == "stored"
    assert connection.scalar(text("SELECT count(*) FROM bench.runs")) == 1


def test_a_schema_that_is_not_there_is_a_sentence(database_url: str) -> None:
    missing = pytest.raises(StorageFailed, match="names no schema that exists")
    with opened(f"{database_url}?options=-csearch_path%3Dbench") as database, missing:
        database.upgrade()


def test_a_database_of_a_newer_release_is_left_alone(database_url: str, connection: Connection) -> None:
    with opened(database_url) as database:
        database.upgrade()
        connection.execute(text(f"UPDATE {REVISION_TABLE} SET version_num = '9999'"))
        with pytest.raises(StorageFailed, match=r"at revision `9999`; .* Use the newer release"):
            database.upgrade()


def test_a_database_that_cannot_hold_every_character_is_refused(postgres_server: str) -> None:
    latin = new_database(postgres_server, "ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
    refused = pytest.raises(StorageFailed, match="encoded in `LATIN1`")
    with latin as url, opened(url) as database, refused:
        database.upgrade()


def test_reading_before_the_tables_are_made_is_a_sentence(database_url: str) -> None:
    with opened(database_url) as database, pytest.raises(StorageFailed, match=r"Could not read the runs .*run_history"):
        database.runs()
