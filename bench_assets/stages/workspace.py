"""What every step needs: the project, its store, its caches, our own environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bench_assets.catalog.candidates import Candidates
from bench_assets.catalog.project import Project
from bench_assets.stages.progress import Reporter

if TYPE_CHECKING:
    from bench_assets.environments.cache import EnvironmentCache
    from bench_assets.storage.objects import ObjectStore


class S3Clients(Protocol):
    """Makes S3 clients; None of them is made before one is needed."""

    def __call__(self) -> Any:
        """Return a boto3 S3 client."""


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """One project, opened. Cheap to make: stores and caches are opened at their first use."""

    project: Project
    environ: Mapping[str, str] = field(repr=False)
    """Our own environment variables."""
    reporter: Reporter
    s3_client: S3Clients | None = field(default=None, repr=False)
    """None means boto3's own ways to find endpoint, region and credentials."""

    @cached_property
    def store(self) -> "ObjectStore":
        """The results' store."""
        return self.open_place(self.project.storage)

    def open_place(self, place: str) -> "ObjectStore":
        """Open a folder or `s3://bucket/prefix`; a relative folder is relative to the project."""
        from bench_assets.storage.objects import open_store

        return open_store(place, base=self.project.folder, s3_client=self.s3_client)

    @cached_property
    def environments(self) -> "EnvironmentCache":
        """The environments on this machine."""
        from bench_assets.environments.cache import EnvironmentCache, default_cache_root

        return EnvironmentCache(default_cache_root(self.environ), on_line=self.reporter.detail)

    @cached_property
    def candidates(self) -> Candidates:
        """The candidates of the project."""
        return Candidates(self.project, self.store)

    @property
    def postgres_folder(self) -> Path:
        """Where the embedded Postgres keeps its data."""
        return self.project.local_storage / "postgres"

    def worker_logs(self, run_id: str) -> Path:
        """Where the workers of a run leave their standard error: a local folder."""
        return self.project.local_storage / "logs" / run_id
