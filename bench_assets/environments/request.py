"""What is asked of the cache: one agent's environment."""

from dataclasses import dataclass

from bench_assets.environments.source_records import Source
from bench_assets.errors import InvalidAgent


@dataclass(frozen=True, kw_only=True)
class EnvironmentRequest:
    """Everything that decides what an environment holds."""

    candidate: str
    """The candidate's key; for the record and for messages, not a part of the fingerprint."""
    source: Source
    """Where the agent, or its adapter, comes from."""
    extra_deps: tuple[Source, ...] = ()
    """Installed in the same resolution as `source`; their order does not matter."""
    worker: Source
    """Where the worker package comes from: `default_worker_source()` unless a person named another."""
    entry_point: str | None = None
    """A name in the entry-point group. Exactly one of this and `import_path`."""
    import_path: str | None = None
    """`module:attribute`."""
    python: str | None = None
    """A version (`3.12`, `3.12.4`), or an interpreter's path; None means the Python that runs bench-assets."""

    def __post_init__(self) -> None:
        if (self.entry_point is None) == (self.import_path is None):
            found = "neither an entry point nor" if self.entry_point is None else "both an entry point and"
            raise InvalidAgent(
                f"The agent of `{self.candidate}` has {found} an import path. Give exactly one: it says how to reach "
                "the adapter."
            )

    @property
    def sources(self) -> tuple[Source, ...]:
        """All of them: the agent's, the extra ones, the worker's."""
        return (self.source, *self.extra_deps, self.worker)
