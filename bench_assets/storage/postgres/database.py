"""The database of finished runs: yours, or one of our own in the storage folder."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import URL, Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from bench_assets.closing import Closing
from bench_assets.contracts.comparison import TransitionRow
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.errors import StorageFailed
from bench_assets.storage.payload import Stored
from bench_assets.storage.postgres import reading, storing
from bench_assets.storage.postgres.connecting import APPLICATION, engine_for, failure, is_lost, parse_url
from bench_assets.storage.postgres.copying import row_stream
from bench_assets.storage.postgres.embedded import EmbeddedPostgres
from bench_assets.storage.postgres.rows import ExecutionRow
from bench_assets.storage.postgres.upgrade import upgrade

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

LOCK_TIMEOUT_SEC = 120
"""For another process that stores the same run, or upgrades the same database."""


class Database(Closing):
    """An open database. Close it, or use it as a context manager; the embedded one stops with its last user.

    ::

        with Database.open(url, embedded_root=root / "postgres") as database:
            database.upgrade()
            database.store_run(run, summary, rows)

    Every method raises StorageFailed, with a sentence without the password, when the database does not do as asked. An
    embedded server that was killed is started again, and what was under way is done once more.
    """

    def __init__(self, url: URL | None, embedded: EmbeddedPostgres | None) -> None:
        """Use `open`."""
        self._embedded = embedded
        self._given = url
        self._engine: Engine | None = None

    @classmethod
    def open(cls, url: str | None, *, embedded_root: Path, durable: bool = True) -> Self:
        """Connect to the Postgres at `url`, or start and join the embedded one.

        Args:
            url: `postgresql://…` (`postgres://…`, `postgresql+psycopg2://…`); None or empty means the embedded one.
            embedded_root: the embedded one's folder; not touched when there is a `url`.
            durable: False gives up the embedded one's safety against a power cut for speed: for tests.

        Raises:
            InvalidInput: when `url` is no URL of a Postgres.
            StorageFailed: when nobody answers there, or no Postgres can be started here.
        """
        given = parse_url(url) if url else None
        database = cls(given, None if given else EmbeddedPostgres(embedded_root, durable=durable))
        try:
            database._connect()
        except BaseException:
            database.close()
            raise
        return database

    @property
    def url(self) -> str:
        """The URL in use, in SQLAlchemy's form, with its password: for other programs, never for a log."""
        return self._connected().url.render_as_string(hide_password=False)

    def upgrade(self) -> bool:
        """Make our tables, or bring them to this release. Returns whether anything was to do; safe at any time."""
        return self._transaction("upgrade the tables", upgrade)

    def store_run(self, run: RunRecord, summary: Summary, executions: Iterable[ExecutionRow]) -> Stored:
        """Store a run, its figures and all its executions: everything or nothing.

        Args:
            run: becomes the row of `runs`.
            summary: becomes the row of `run_metrics`.
            executions: read once, in any order, never held as a whole.

        Returns:
            `stored` for a new run, `unchanged` when the same result is there already, `continued` when it replaced the
            same run's earlier result, which had left executions open.

        Raises:
            RunConflict: when the run_id holds another run, or this one with another result and nothing left open.
        """
        with row_stream(run.run_id, executions) as rows:
            return self._transaction(
                f"store the run `{run.run_id}`", lambda connection: storing.store(connection, run, summary, rows)
            )

    def store_gate(self, decision: GateDecision, transitions: Iterable[TransitionRow] = ()) -> None:
        """Store a decision on a run, and what became of each question, in place of an earlier one with its baseline.

        `transitions` are not held; they are iterated over again when a connection breaks.

        Raises:
            StorageFailed: when the run's own rows are not there.
        """
        self._transaction(
            f"store the decision on run `{decision.run_id}`", lambda c: storing.store_gate(c, decision, transitions)
        )

    def runs(
        self, *, benchmark: str | None = None, candidate: str | None = None, limit: int = 100
    ) -> list[reading.StoredRun]:
        """Return what `run_history` says of the newest runs, newest first."""
        return self._transaction("read the runs", lambda c: reading.runs(c, benchmark, candidate, limit))

    def leaderboard(self, benchmark: str) -> list[reading.Standing]:
        """Return the candidates of a benchmark, the best one first, as the view `leaderboard` ranks them."""
        return self._transaction("read the leaderboard", lambda c: reading.leaderboard(c, benchmark))

    def run(self, run_id: str) -> RunRecord | None:
        """Return a run's record; None when it is not stored. NUL characters in it have become U+FFFD."""
        return self._transaction("read the run", lambda c: reading.run(c, run_id))

    def metrics(self, run_id: str) -> Summary | None:
        """Return a run's figures; None when it is not stored."""
        return self._transaction("read the metrics", lambda c: reading.metrics(c, run_id))

    def executions(self, run_id: str) -> list[ExecutionRow]:
        """Return a run's executions by question and repetition; none when it is not stored. Holds them all."""
        return self._transaction("read the executions", lambda c: reading.executions(c, run_id))

    def close(self) -> None:
        """Disconnect, and stop the embedded server when nobody else uses it. Closing again does nothing.

        A server that does not stop is logged and not raised: what was to be stored is, and the next user stops it.
        """
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()
        embedded, self._embedded = self._embedded, None
        if embedded is not None and embedded.is_joined:
            try:
                with embedded.exclusively():
                    if embedded.leave() and engine is not None and not _strangers(engine.url):
                        embedded.stop()
            except StorageFailed as error:
                embedded.leave()
                logger.warning("%s It is left to its next user.", error)

    def _connect(self) -> None:
        for last in (False, True):
            with self._joined() as url:
                engine = engine_for(url, embedded=self._embedded is not None)
                try:
                    with engine.connect():
                        pass
                except SQLAlchemyError as error:
                    engine.dispose()
                    # An embedded server that is killed in this very instant refuses once; the next try starts it.
                    if last or self._embedded is None:
                        raise failure(error, action="connect", url=url) from error
                else:
                    self._engine = engine
                    return

    @contextmanager
    def _joined(self) -> Iterator[URL]:
        """Keep the embedded server up while we connect to it; a given one is somebody else's to keep up."""
        if self._embedded is None:
            assert self._given is not None
            yield self._given
        else:
            with self._embedded.joining() as url:
                yield parse_url(url)

    def _connected(self) -> Engine:
        if self._engine is None:
            raise StorageFailed("The database is closed.")
        return self._engine

    def _transaction(self, action: str, work: Callable[[Connection], Result]) -> Result:
        engine = self._connected()
        try:
            return _run(engine, work)
        except SQLAlchemyError as error:
            if self._embedded is None or not is_lost(error):
                raise failure(error, action=action, url=engine.url) from error
        engine.dispose()
        self._connect()
        engine = self._connected()
        try:
            return _run(engine, work)
        except SQLAlchemyError as error:
            raise failure(error, action=action, url=engine.url) from error


def _run(engine: Engine, work: Callable[[Connection], Result]) -> Result:
    with engine.begin() as connection:
        connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_SEC}s'"))
        return work(connection)


def _strangers(url: URL) -> bool:
    """Return whether somebody who is not of ours uses the embedded server: a person with psql, a dashboard."""
    engine = engine_for(url, embedded=True)
    try:
        with engine.connect() as connection:
            return bool(connection.scalar(_STRANGERS, {"ours": APPLICATION}))
    except SQLAlchemyError as error:
        return not is_lost(error)
    finally:
        engine.dispose()


_STRANGERS = text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name <> :ours"
)
