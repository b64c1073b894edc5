"""Which candidates are known, and what a candidate's key stands for."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Protocol

from bench_assets.catalog.agents import load_agents
from bench_assets.catalog.project import Project
from bench_assets.contracts.agent import AgentSpec, CandidateKey, Variant, path_segment
from bench_assets.contracts.base import VersionedRecord, dump_json
from bench_assets.errors import InvalidAgent, ObjectMissing


class CandidateRecord(VersionedRecord):
    """`<root>/candidates/<candidate>.json`: a candidate that was named by its source, not by `agents.yaml`."""

    schema_version: int = 1
    candidate: str
    """The key."""
    agent: AgentSpec
    """Credentials removed from its sources."""


class Objects(Protocol):
    """The part of an object store that the registry needs."""

    def read(self, key: str) -> bytes:
        """Return an object's bytes, or raise ObjectMissing."""

    def write(self, key: str, data: bytes) -> None:
        """Write an object, whole or not at all."""

    def list(self, prefix: str) -> Iterator[str]:
        """Yield the keys under a prefix."""

    def delete(self, key: str) -> None:
        """Remove an object."""


class Candidates:
    """Looks candidates up: first those registered by their source, then `agents.yaml`."""

    def __init__(self, project: Project, objects: Objects) -> None:
        self._project = project
        self._objects = objects
        self._held: dict[str, AgentSpec] = {}

    def hold(self, candidate: str, agent: AgentSpec) -> None:
        """Keep a candidate's definition with its credentials, in this process's memory only."""
        self._held[candidate] = agent

    def register(self, candidate: str, agent: AgentSpec) -> None:
        """Keep what an ad hoc candidate stands for, so that any process can materialize it."""
        record = CandidateRecord(candidate=candidate, agent=agent)
        self._objects.write(_key(candidate), dump_json(record.to_json()))

    def forget(self, candidate: str) -> None:
        """Remove a registered candidate; one of `agents.yaml` stays what it is."""
        self._objects.delete(_key(candidate))

    def registered(self) -> list[str]:
        """Return the keys of the candidates that were registered by their source."""
        return [self._read(key).candidate for key in self._objects.list("candidates/")]

    def resolve(self, candidate: str) -> tuple[CandidateKey, AgentSpec, Variant | None]:
        """Return what a key stands for. Raises InvalidAgent for an unknown agent or variant, with those there are."""
        key = CandidateKey.parse(candidate)
        try:
            agent = self._held.get(candidate) or self._read(_key(candidate)).agent
        except ObjectMissing:
            agents = load_agents(self._project.agents)
            if key.agent not in agents:
                known = ", ".join(f"`{name}`" for name in agents) or "none"
                raise InvalidAgent(
                    f"`{candidate}`: no agent `{key.agent}`; {self._project.agents} has: {known}. Add it there, "
                    "or register a source with `bench-assets candidates add`."
                ) from None
            agent = agents[key.agent]
        if key.variant is None:
            return key, agent, None
        if key.variant not in agent.variants:
            known = ", ".join(f"`{name}`" for name in agent.variants) or "none"
            raise InvalidAgent(
                f"`{candidate}`: the agent `{key.agent}` has no variant `{key.variant}`; it has: {known}."
            )
        return key, agent, agent.variants[key.variant]

    def _read(self, key: str) -> CandidateRecord:
        return CandidateRecord.from_json(json.loads(self._objects.read(key)), source=key)


def ad_hoc_key(agent: AgentSpec, *, title: str, ref: str) -> CandidateKey:
    """Return the key of an agent that is named by its source only: `<title>-<digest>@<ref>`.

    The same definition gives the same key, another definition another one.
    """
    # How an agent is watched and where it runs is no part of what it is.
    fields = {name: value for name, value in agent.to_json().items() if name not in ("watch", "pod")}
    identity = hashlib.sha256(dump_json(fields, sort_keys=True)).hexdigest()[:8]
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-._") or "agent"
    return CandidateKey(agent=f"{slug[:40]}-{identity}", ref=ref)


def _key(candidate: str) -> str:
    return f"candidates/{path_segment(candidate)}.json"
