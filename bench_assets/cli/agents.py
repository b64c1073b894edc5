"""What `--agent` and its companions name: an entry of agents.yaml, or a source of its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from bench_assets.catalog.agents import load_agents
from bench_assets.catalog.candidates import ad_hoc_key
from bench_assets.catalog.project import Project
from bench_assets.contracts.agent import AgentSpec, CandidateKey
from bench_assets.contracts.base import first_fault
from bench_assets.environments.source import parse_source
from bench_assets.environments.source_records import GitSource, LocalSource, Source
from bench_assets.errors import InvalidAgent
from bench_assets.stages.environment import own_ref

CANDIDATE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(~[\w.-]+)?@[\w./+=%~-]+")
"""What looks like an agent of agents.yaml at a ref."""


@dataclass(frozen=True)
class NamedAgent:
    """A candidate as the command line names it."""

    candidate: str
    """The key."""
    agent: AgentSpec | None = None
    """The agent, with the credentials it was given; None for an entry of agents.yaml."""
    public: AgentSpec | None = None
    """The same without credentials, as it is kept; None for an entry of agents.yaml."""


def name_agent(
    project: Project,
    text: str,
    *,
    entry_point: str | None,
    import_path: str | None,
    extra_deps: Sequence[str] = (),
    python: str | None = None,
    env: Sequence[str] = (),
) -> NamedAgent:
    """Return what the options name. Raises InvalidAgent with a sentence for what cannot be used."""
    agents = load_agents(project.agents)
    name, at, _ = text.partition("@")
    bare, _, variant = name.partition("~")
    if bare in agents and (at or bare == name or variant):
        return NamedAgent(_known(text, bare, agents[bare], entry_point=entry_point, import_path=import_path))
    try:
        source = parse_source(text, base=Path.cwd())
    except InvalidAgent as error:
        if not CANDIDATE.fullmatch(text):
            raise
        known = ", ".join(f"`{name}`" for name in agents) or "none"
        raise InvalidAgent(
            f"There is no agent `{bare}`; {project.agents} has: {known}. And as a source it cannot be read: {error}"
        ) from error
    deps = [parse_source(dep, base=Path.cwd()) for dep in extra_deps]
    try:
        agent = AgentSpec(
            source=_found_again(text, source),
            entry_point=entry_point,
            import_path=import_path,
            extra_deps=[_found_again(given, dep) for given, dep in zip(extra_deps, deps, strict=True)],
            python=python,
            env=list(env),
        )
    except ValidationError as error:
        raise InvalidAgent(
            f"`{source.redacted}`: {first_fault(error)}. Say how to reach the adapter with --agent-entry-point NAME or "
            "--agent-import-path module:attribute."
        ) from error
    public = agent.model_copy(
        update={
            "source": _found_again(source.redacted, source),
            "extra_deps": [_found_again(dep.redacted, dep) for dep in deps],
        }
    )
    return NamedAgent(str(ad_hoc_key(public, title=_title(source), ref=own_ref(source))), agent, public)


def _known(text: str, name: str, agent: AgentSpec, *, entry_point: str | None, import_path: str | None) -> str:
    if entry_point or import_path:
        raise InvalidAgent(
            f"`{name}` is an agent of agents.yaml, which says how to reach its adapter; leave out --agent-entry-point "
            "and --agent-import-path, or name a source instead."
        )
    if "@" in text:
        return str(CandidateKey.parse(text))
    if "{ref}" in agent.source:
        raise InvalidAgent(
            f"`{text}` names no version, which the agent's source `{agent.source}` needs: write `{name}@ref`."
        )
    return str(CandidateKey(agent=name, ref="HEAD", variant=text.partition("~")[2] or None))


def _found_again(text: str, source: Source) -> str:
    """Return `text`, with a local path made absolute: another process may look from another folder."""
    if not isinstance(source, LocalSource):
        return text
    extras = f"[{','.join(source.extras)}]" if source.extras else ""
    return f"{source.path}{extras}"


def _title(source: Source) -> str:
    """Return a short name for a source, for people to read in a candidate's key."""
    if isinstance(source, LocalSource):
        return source.name or source.path.name
    if isinstance(source, GitSource):
        place = source.subdirectory or source.url.removesuffix("/").removesuffix(".git")
        return source.name or place.rpartition("/")[2]
    return source.redacted.partition("==")[0]
