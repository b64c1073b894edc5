"""`agents.yaml`, and the key of a candidate."""

import re
from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import Field, model_validator

from bench_assets.contracts.base import JsonValue, Record
from bench_assets.contracts.pod import PodSettings
from bench_assets.contracts.watch import Watch
from bench_assets.errors import InvalidAgent

AGENT_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*(?:\.{1,2}[A-Za-z0-9_-]+)*$"
"""Letters, digits, `_`, `-` and dots. A dot at the end, or three in a row, would end a range of Dagster's keys."""

VARIABLE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
KEY = re.compile(
    r"^(?P<agent>[A-Za-z0-9][A-Za-z0-9._-]*)@(?P<ref>[A-Za-z0-9._/@+=%-]+)(?:~(?P<variant>[A-Za-z0-9._-]+))?$"
)

VariableName = Annotated[str, Field(pattern=VARIABLE_NAME)]


class Variant(Record):
    """A named change of an agent's settings that needs no other code."""

    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    """Laid over the agent's `kwargs`, key by key."""
    env: dict[VariableName, str] = Field(default_factory=dict)
    """Variables for the agent's process. `${NAME}` in a value is taken from bench-assets' own environment."""


class AgentSpec(Record):
    """One entry of `agents.yaml`: where an agent's code comes from, how to reach its adapter, what it may see."""

    source: str
    """A local path, `git+https|ssh|file://…@{ref}#subdirectory=…`, or a requirement that pip takes.

    `{ref}` is replaced by the candidate's ref; `{project}` by the folder of `agents.yaml`.
    """
    entry_point: str | None = None
    """A name in the entry-point group `bencher_agents` (or `bench_agents`)."""
    import_path: str | None = None
    """`module:attribute`. Exactly one of `entry_point` and `import_path`."""
    extra_deps: list[str] = Field(default_factory=list)
    """Further requirements for the same environment, in the forms that `source` takes."""
    python: str | None = None
    """The Python of the environment, for instance `3.12`; None means the one that runs bench-assets."""
    env: list[VariableName] = Field(default_factory=list)
    """Names of variables that the agent may see, besides the allow-listed ones (PATH, HOME, locale, proxies, …)."""
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    """Handed to `run` with each question, as far as it takes them."""
    variants: dict[Annotated[str, Field(pattern=AGENT_NAME)], Variant] = Field(default_factory=dict)
    """Named changes; a candidate `agent@ref~variant` runs with one."""
    watch: Watch | None = None
    """Which new versions are benchmarked without anyone asking; None means none."""
    pod: PodSettings | None = None
    """What its runs need on Kubernetes; without meaning elsewhere."""
    description: str = ""
    """Free text."""

    @model_validator(mode="after")
    def _reachable(self) -> "AgentSpec":
        if (self.entry_point is None) == (self.import_path is None):
            raise ValueError("give exactly one of `entry_point` and `import_path`")
        if self.import_path is not None and not re.fullmatch(r"[\w.]+:[\w.]+", self.import_path):
            raise ValueError(f"`import_path` must read `module:attribute`, not `{self.import_path}`")
        return self


class CandidateKey(Record):
    """One agent at one ref, with an optional variant: the partition key `agent@ref` or `agent@ref~variant`."""

    agent: str
    ref: str
    """The ref as git knows it, any characters."""
    variant: str | None = None

    @classmethod
    def parse(cls, key: str) -> "CandidateKey":
        """Read a key back. Raises InvalidAgent for text that is no key (`|`, `,` and `...` break Dagster's keys)."""
        match = KEY.fullmatch(key)
        if match is None or "..." in key:
            raise InvalidAgent(
                f"`{key}` is not a candidate. Write `agent@ref` or `agent@ref~variant`; other characters than letters, "
                "digits and `._/@+=-` in a ref are percent-encoded, as `bench-assets candidates add` does for you."
            )
        return cls(agent=match["agent"], ref=unquote(match["ref"]), variant=match["variant"])

    def __str__(self) -> str:
        """Return the partition key: the ref percent-encoded where a key cannot hold its characters."""
        ref = quote(self.ref, safe="/@+=").replace("~", "%7E").replace("...", "%2E%2E%2E")
        return f"{self.agent}@{ref}" + (f"~{self.variant}" if self.variant else "")

    @property
    def segment(self) -> str:
        """The key as one segment of a path: `/` and a leading dot are encoded."""
        return path_segment(str(self))


def path_segment(key: str) -> str:
    """Return `key` as one safe path segment: nothing but letters, digits and `._@~+=%-`, no leading dot, no `/`."""
    segment = quote(key, safe="@+=%~")
    return "%2E" + segment[1:] if segment.startswith(".") else segment
