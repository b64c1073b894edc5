"""Dagster's SQLite files, kept open while a command of ours runs.

Dagster opens and closes its files for every statement, some 800 times in a run over 8 shards. SQLite ends each closing
of a file that nobody else has open with a checkpoint, so a run waits for the disk hundreds of times. These storages
read and write the same files, and any other process may use them at the same time. They differ in three ways:

- a file stays open until the instance is disposed of;
- the file of a new run is the copy of an empty one, whose tables were made in memory;
- a commit is in the file when it returns, and on the disk at the next checkpoint (`synchronous = NORMAL`, as SQLite
  advises for its write-ahead log). A power cut may take the last events of a run with it, and damages nothing. What was
  answered is not among Dagster's events; it is in our journal, synced.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, StaticPool, create_engine, event, text


class _OpenFiles:
    """One engine a file; each keeps the connection that it opened first."""

    def __init__(self) -> None:
        self._engines: dict[str, Engine] = {}

    def engine(self, url: str) -> Engine:
        """Return the engine of a file."""
        if url not in self._engines:
            engine = create_engine(url, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})
            event.listen(engine, "connect", _trust_the_log)
            self._engines[url] = engine
        return self._engines[url]

    def close(self) -> None:
        """Close all files; whoever closes one last writes its log into it."""
        while self._engines:
            self._engines.popitem()[1].dispose()


def _trust_the_log(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous=NORMAL").close()


class EventLog(SqliteEventLogStorage):
    """Dagster's event log, a file a run and one for all."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._open_files = _OpenFiles()
        self._tables: set[str] = set()
        self._empty: bytes | None = None
        super().__init__(base_dir, inst_data)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        if shard not in self._initialized_dbs and not self._copied(shard):
            with super()._connect(shard):
                pass  # makes the file's tables, or looks whether they are there
        with self._db_lock:
            engine = self._open_files.engine(self.conn_string_for_shard(shard))
            with engine.connect() as connection, connection.begin():
                yield connection

    def _copied(self, shard: str) -> bool:
        """Make the file of a new run as a copy of an empty one; False when there is one, or Dagster is to make it."""
        path = Path(self.path_for_shard(shard))
        if path.exists() or not hasattr(sqlite3.Connection, "serialize"):  # a matter of how SQLite was built
            return False
        aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        aside.write_bytes(self._empty_file())
        try:
            os.link(aside, path)  # never in the place of a file that another process has made meanwhile
        except OSError:
            return False  # it has, or this file system knows no links
        finally:
            aside.unlink()
        with self._db_lock, self._open_files.engine(self.conn_string_for_shard(shard)).connect() as connection:
            connection.execute(text("PRAGMA journal_mode=WAL"))
        self._initialized_dbs.add(shard)
        return True

    def _empty_file(self) -> bytes:
        if self._empty is None:
            engine = create_engine("sqlite://", poolclass=StaticPool)
            self._initdb(engine)
            connection = engine.raw_connection().driver_connection
            assert isinstance(connection, sqlite3.Connection)
            self._empty = connection.serialize()
            engine.dispose()
        return self._empty

    def has_table(self, table_name: str) -> bool:
        """Return whether there is such a table; one that there is stays."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def dispose(self) -> None:
        """Close the files, too."""
        super().dispose()
        self._open_files.close()


class Runs(SqliteRunStorage):
    """Dagster's runs and their tags, one file."""

    def __init__(self, conn_string: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._open_files = _OpenFiles()
        super().__init__(conn_string, inst_data)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Give a connection with a transaction."""
        with self._open_files.engine(self._conn_string).connect() as connection, connection.begin():
            yield connection

    def dispose(self) -> None:
        """Close the file, too."""
        super().dispose()
        self._open_files.close()


class KeptOpen(DagsterSqliteStorage):
    """Both, in place of Dagster's; schedules stay as they are."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        plain_runs, plain_events = self._run_storage, self._event_log_storage
        assert isinstance(plain_runs, SqliteRunStorage)
        self._run_storage = Runs(plain_runs._conn_string)
        self._event_log_storage = EventLog(plain_events._base_dir)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> "KeptOpen":
        """Return the storage in `base_dir`."""
        return cls.from_local(inst_data=inst_data, **config_value)


def keeping_open(ref: InstanceRef) -> InstanceRef:
    """Return an instance's description with our storages in the place of Dagster's own SQLite; any other as it is."""
    data = ref.storage_data
    if data is None or data.class_name != DagsterSqliteStorage.__name__:
        return ref
    ours = ConfigurableClassData(__name__, KeptOpen.__name__, yaml.safe_dump(yaml.safe_load(data.config_yaml)))
    return ref._replace(storage_data=ours)
