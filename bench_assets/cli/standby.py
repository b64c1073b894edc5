"""Keeps the embedded Postgres up while a command needs it more than once."""

import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from bench_assets.errors import BenchError
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.postgres.database import Database


class StandBy:
    """Starts the project's embedded Postgres in the background, and lets go of it when the block ends.

    Each step opens the database for itself. Alone, it would start the server and end it, one step after the other, and
    wait for both. A Postgres of the person's own is left alone.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._database: Database | None = None
        self._starting = threading.Thread(target=self._open, name="postgres")

    def __enter__(self) -> Self:
        if not self._workspace.project.postgres_url:
            self._starting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._starting.ident is not None:
            self._starting.join()
        if self._database is not None:
            self._database.close()

    def _open(self) -> None:
        with suppress(BenchError):  # the step that needs it meets the same, and says it
            self._database = Database.open(None, embedded_root=self._workspace.postgres_folder)
