"""Real Postgres servers for one test session, and a fresh database for each test that asks."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.embedded import EmbeddedPostgres
from tests.services.opt_out import unless_opted_out

GIVEN = "BENCH_TESTS_POSTGRES_URL"
"""Names the variable with the URL of a server to test against, for instance of another major version."""


@contextmanager
def running_postgres(root: Path) -> Iterator[str]:
    """Start a Postgres in `root`, fast and not safe against power cuts, yield its URL, and stop it at the end."""
    server = EmbeddedPostgres(root, durable=False)
    with server.joining() as url:
        pass
    try:
        yield url
    finally:
        server.leave()
        server.stop()


@contextmanager
def new_database(server_url: str, options: str = "") -> Iterator[str]:
    """Create an empty database on the server, yield its URL (`postgresql://…`), and drop it.

    `options` are those of CREATE DATABASE.
    """
    name = f"test_{secrets.token_hex(6)}"
    url = parse_url(server_url)
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} {options}"))
    try:
        yield url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        engine.dispose()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real Postgres, for the whole session of this test process: what a person would have set up.

    One of our own, or the one at `BENCH_TESTS_POSTGRES_URL`, whose user must be allowed to create databases.
    """
    if given := os.environ.get(GIVEN):
        yield given
        return
    with unless_opted_out("postgres"), running_postgres(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture
def database_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database of this test's own, as somebody would write it into BENCH_POSTGRES_URL."""
    with new_database(postgres_server) as url:
        yield url
