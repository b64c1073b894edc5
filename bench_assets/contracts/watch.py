"""`watch:` of an agent: which new versions of it are benchmarked without anyone asking."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bench_assets.contracts.base import Record, digest


class Watch(Record):
    """What of an agent's repository is watched. Finding something new starts no spending: it only makes plans."""

    benchmarks: Annotated[list[str], Field(min_length=1)]
    """`name@version` of each benchmark for which a plan is made."""
    repository: str | None = None
    """`git+https|http|ssh|file://…`, without a ref. None means the repository of the agent's `source`.

    `${NAME}` is taken from the variables of the process that looks, so that a token need not stand in the file.
    """
    tags: str | None = None
    """Tags to watch, as a pattern: `*` is anything, `?` one character, `[0-9]` one of them. None means no tags."""
    branch: str | None = None
    """A branch of which each new commit becomes a candidate. None means none. At least one of `tags`, `branch`."""
    since: str | None = None
    """The oldest version of interest: tags before it, in the order of versions, are not looked at. None means all."""
    existing: Literal["newest", "all", "none"] = "newest"
    """What of the tags that are there when watching begins, or when this entry changes, is benchmarked."""
    quiet_sec: float = Field(default=600.0, ge=0)
    """A branch's newest commit is taken once no other has come for so many seconds."""

    @model_validator(mode="after")
    def _something(self) -> "Watch":
        if self.tags is None and self.branch is None:
            raise ValueError("give `tags`, `branch` or both")
        return self

    @property
    def scope(self) -> str:
        """Digest of what decides which tags are looked at; 12 hex digits."""
        return digest([self.repository, self.tags, self.since])[:12]
