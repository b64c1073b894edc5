"""Where a project's files are, and the few variables that move them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench_assets.errors import InvalidInput

MARKS = ("agents.yaml", "benchmarks")
"""A folder that holds one of these is a project."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """A folder with `benchmarks/` and `agents.yaml`, and where its results go."""

    folder: Path
    storage: str
    """A folder or `s3://bucket/prefix`: `BENCH_STORAGE`, or `.bench`. A relative folder is relative to `folder`."""
    postgres_url: str | None = field(default=None, repr=False)
    """`BENCH_POSTGRES_URL`; None means the embedded server."""
    deployment: Path
    """The file that says how the project runs here: `BENCH_DEPLOYMENT`, or `deployment.yaml`. It need not exist."""

    @classmethod
    def find(cls, environ: Mapping[str, str], *, cwd: Path) -> "Project":
        """Return the project that `BENCH_PROJECT` names, or the nearest one from `cwd` upwards, or `cwd` itself.

        Raises InvalidInput when `BENCH_PROJECT` names no folder.
        """
        named = environ.get("BENCH_PROJECT")
        if named:
            folder = (cwd / Path(named).expanduser()).resolve()
            if not folder.is_dir():
                raise InvalidInput(f"BENCH_PROJECT names `{folder}`, which is no folder. Correct it or unset it.")
        else:
            resolved = cwd.resolve()
            folder = next(
                (at for at in (resolved, *resolved.parents) if any((at / mark).exists() for mark in MARKS)), resolved
            )
        return cls(
            folder=folder,
            storage=environ.get("BENCH_STORAGE") or ".bench",
            postgres_url=environ.get("BENCH_POSTGRES_URL") or None,
            deployment=folder / Path(environ.get("BENCH_DEPLOYMENT") or "deployment.yaml").expanduser(),
        )

    @property
    def benchmarks(self) -> Path:
        """The folder of `<name>/<version>/benchmark.yaml`."""
        return self.folder / "benchmarks"

    @property
    def agents(self) -> Path:
        """The file of agents; it need not exist."""
        return self.folder / "agents.yaml"

    @property
    def local_storage(self) -> Path:
        """A local folder for what cannot live in an object store: logs, the embedded Postgres.

        The storage itself where it is a folder, else `.bench` in the project.
        """
        if self.storage.startswith("s3://"):
            return self.folder / ".bench"
        return (self.folder / Path(self.storage.removeprefix("file://")).expanduser()).resolve()

    @property
    def dagster_home(self) -> Path:
        """Dagster's folder where `DAGSTER_HOME` says nothing."""
        return self.folder / "dagster_home"
