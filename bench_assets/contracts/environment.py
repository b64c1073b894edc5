"""What is recorded of an agent's environment: `<root>/environments/<candidate>.json`."""

from pydantic import Field

from bench_assets.contracts.base import JsonValue, Record, VersionedRecord


class ResolvedSource(Record):
    """A source after its ref was looked up. Holds no credentials."""

    kind: str
    """`local`, `git` or `requirement`."""
    text: str
    """The source as it was given, credentials removed."""
    requirement: str
    """What is installed, pinned: a path, `git+…@<commit>#subdirectory=…`, or a requirement with its version."""
    commit: str | None = None
    """The full commit id; None where the source is not in git."""
    ref: str | None = None
    """The ref that was asked for; None means the repository's default branch, or no git at all."""
    dirty: bool | None = None
    """True when a local path has changes that its commit does not hold; None where there is no commit."""
    tree: str | None = None
    """Digest of a local source's files; None for other kinds."""


class EnvironmentRecord(VersionedRecord):
    """One built environment."""

    schema_version: int = 1
    candidate: str
    """The candidate's key."""
    fingerprint: str
    """64 hex digits over everything that decides what is installed; also the cache's key.

    Covers the resolved sources, how the adapter is reached, Python and platform. Of a requirement that names no exact
    version it covers the newest release that the text allows. What the sources themselves depend on is in `lock`.
    """
    source: ResolvedSource
    extra_deps: list[ResolvedSource] = Field(default_factory=list)
    worker: ResolvedSource
    """Where the worker package came from."""
    entry_point: str | None = None
    import_path: str | None = None
    python: str
    """Full version of the environment's Python, for instance `3.11.7`."""
    platform: str
    """For instance `linux-x86_64`."""
    abi: str = ""
    """What compiled packages fit, for instance `cpython-311-x86_64-linux-gnu`; empty where Python does not say."""
    lock: str
    """`uv pip freeze` of the environment: the text of `environment.lock`. No credentials."""
    lock_digest: str
    """SHA-256 of `lock`."""
    package_count: int
    """Packages in the environment."""
    built_at: str
    """ISO 8601, UTC."""
    build_seconds: float
    """How long the build took when it was built."""

    def identity_fields(self) -> dict[str, JsonValue]:
        """Return what makes this environment another one than a second: its content, not where or when it was built."""
        fields = {name: getattr(self, name) for name in ("fingerprint", "lock_digest", "python", "platform")}
        local = self.source.kind == "local"
        source = {"tree": self.source.tree} if local else {"commit": self.source.commit, "text": self.source.text}
        return {**fields, "source": source, "connection": self.connection}

    @property
    def connection(self) -> list[str]:
        """The worker's arguments that reach the adapter."""
        return ["--entry-point", self.entry_point] if self.entry_point else ["--import-path", self.import_path or ""]
