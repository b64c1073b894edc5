"""Bring a database to the schema of this release."""

from pathlib import Path

from sqlalchemy import Connection, text

from bench_assets.errors import StorageFailed
from bench_assets.storage.postgres.schema import metadata

HEAD = "0002"
"""The newest revision under `migrations/versions`; a test keeps it true. It spares us loading Alembic each time."""

REVISION_TABLE = "bench_assets_revision"
"""A name of our own: Dagster and others keep an `alembic_version`."""

LOCK = 0x62_65_6E_63_68
"""Number of the advisory lock that lets one process at a time upgrade a database."""


def upgrade(connection: Connection) -> bool:
    """Make or upgrade our tables inside the open transaction. Returns whether anything was to do.

    Safe for any number of processes at once: the first one upgrades, the others wait for it and find it done.

    Raises:
        StorageFailed: when the database is not in UTF-8, holds tables of others under our names, or was upgraded by a
            newer release.
    """
    if revision(connection) == HEAD:
        return False
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    found = revision(connection)
    if found == HEAD:
        return False
    _check_database(connection, found)
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return True


def revision(connection: Connection) -> str | None:
    """Return the database's revision; None when our tables are not there."""
    # Not to_regclass(): it may answer from a cache that has not heard of what another process has just committed.
    if not connection.scalar(_EXISTS, {"table": REVISION_TABLE}):
        return None
    found: str | None = connection.scalar(text(f"SELECT version_num FROM {REVISION_TABLE}"))
    return found


def _check_database(connection: Connection, found: str | None) -> None:
    encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise StorageFailed(
            f"The database is encoded in `{encoding}`, which cannot hold every answer. "
            "Create one with `ENCODING 'UTF8' TEMPLATE template0`."
        )
    if connection.scalar(text("SELECT current_schema()")) is None:
        raise StorageFailed("The database user's search_path names no schema that exists. Create it, or set another.")
    if found is not None and found > HEAD:
        raise StorageFailed(
            f"The database is at revision `{found}`; this release of bench-assets knows `{HEAD}` and older ones. "
            "Use the newer release that upgraded it."
        )
    taken = [name for name in metadata.tables if found is None and connection.scalar(_EXISTS, {"table": name})]
    if taken:
        raise StorageFailed(
            f"The database already has tables of somebody else under our names: {', '.join(f'`{t}`' for t in taken)} "
            "(Dagster's own storage has a table `runs`). Give bench-assets a database of its own, or a schema: create "
            "it and add `?options=-csearch_path%3DSCHEMA` to BENCH_POSTGRES_URL."
        )


_EXISTS = text(
    "SELECT EXISTS (SELECT FROM pg_class WHERE relname = :table AND relnamespace = current_schema()::regnamespace)"
)
