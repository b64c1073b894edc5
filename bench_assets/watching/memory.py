"""What is remembered from one look to the next: the text of a sensor's cursor."""

import json
import secrets
from typing import Self

from pydantic import Field

from bench_assets.contracts.base import Record, VersionedRecord, dump_json
from bench_assets.errors import InvalidInput

DIGITS = 12
"""Digits kept of a commit's id: hundreds of tags are remembered."""


class SeenTag(Record):
    """A tag that was found once."""

    commit: str
    """The first digits of the commit it stood on when it was last seen."""
    moves: int = 0
    """How often it was found on another commit than before. Part of the run key: a tag may move back."""
    gone: bool = False
    """True since a look that did not find it."""


class SeenBranch(Record):
    """The newest commit of a branch."""

    commit: str
    since: float
    """When it was first seen, seconds since 1970."""
    requested: str | None = None
    """The last commit that was asked for; None when none was."""
    moves: int = 0
    """How often a commit was asked for: a branch may be set back to an older one."""


class SeenAgent(Record):
    """One agent's repository, as it was last seen."""

    scope: str
    """`Watch.scope` of that look. Under another one, tags that were never looked at are not news."""
    tags: dict[str, SeenTag] = Field(default_factory=dict)
    branches: dict[str, SeenBranch] = Field(default_factory=dict)


class Memory(VersionedRecord):
    """All of it."""

    schema_version: int = 1
    epoch: str = Field(default_factory=lambda: secrets.token_hex(4))
    """Made anew whenever nothing is remembered. Part of every run key, so that a person who empties the cursor gets
    the runs again that were lost."""
    agents: dict[str, SeenAgent] = Field(default_factory=dict)

    @classmethod
    def read(cls, text: str | None) -> Self:
        """Read a cursor back; empty or none begins anew. Raises InvalidInput for text that is no cursor of ours."""
        if not text:
            return cls()
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise InvalidInput("The sensor's cursor is not one that bench-assets wrote. Reset it in the UI.")
        return cls.from_json(value, source="the sensor's cursor (reset it in the UI to begin anew)")

    def text(self) -> str:
        """Return the cursor's text."""
        return dump_json(
            self.model_dump(mode="json", exclude_defaults=True) | {"schema_version": 1, "epoch": self.epoch}
        ).decode()
