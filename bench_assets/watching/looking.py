"""One look at the repositories of all watched agents."""

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from bench_assets.contracts.agent import AgentSpec
from bench_assets.contracts.watch import Watch
from bench_assets.environments.child_process import build_variables
from bench_assets.environments.git import remote_refs
from bench_assets.environments.source import parse_source
from bench_assets.environments.source_records import GitSource
from bench_assets.environments.tokens import with_tokens
from bench_assets.errors import BenchError, EnvironmentFailed, InvalidAgent, InvalidInput
from bench_assets.watching.memory import Memory
from bench_assets.watching.news import Found, news_of

TIMEOUT_SEC = 15.0
"""For one repository."""
AT_ONCE = 16
DEADLINE_SEC = 30.0
"""No repository is asked later than so long after the first: Dagster ends a look after 60 s."""

Refs = dict[str, str] | BenchError


@dataclass(kw_only=True)
class Look:
    """What a look found."""

    memory: Memory
    """To be remembered once everything in `found` was requested. An agent that failed keeps its part."""
    found: list[Found] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """One sentence an agent that could not be looked at."""


def look(
    agents: Mapping[str, AgentSpec],
    *,
    memory: Memory,
    benchmarks: Collection[str],
    base: Path,
    environ: Mapping[str, str],
    clock: Callable[[], float] = time.time,
) -> Look:
    """Ask the repository of every agent that has a `watch:`; equal ones are asked once. Raises nothing.

    Args:
        agents: those of `agents.yaml`, by name.
        memory: what the look before this one left.
        benchmarks: `name@version` of those that there are.
        base: the folder of `agents.yaml`.
        environ: our own variables, for git and for `${NAME}`.
        clock: seconds since 1970.
    """
    found = Look(memory=memory)
    watched = {name: agent for name, agent in agents.items() if agent.watch is not None}
    sources: dict[str, GitSource] = {}
    for name, agent in watched.items():
        try:
            sources[name] = watched_source(agent, base=base, benchmarks=benchmarks, environ=environ)
        except InvalidInput as fault:
            found.faults.append(f"`{name}`: {fault}")
    answers = _ask(list(dict.fromkeys(sources.values())), variables=build_variables(environ))
    remembered = {name: seen for name, seen in memory.agents.items() if name in watched}
    for name, source in sources.items():
        refs = answers[source]
        if isinstance(refs, BenchError):
            found.faults.append(f"`{name}`: {refs}")
            continue
        watch = watched[name].watch
        assert watch is not None
        news = news_of(name, watch, refs=refs, seen=memory.agents.get(name), epoch=memory.epoch, now=clock())
        remembered[name] = news.seen
        found.found += news.found
        found.notes += news.notes
    found.memory = memory.model_copy(update={"agents": remembered})
    return found


def watched_source(
    agent: AgentSpec, *, base: Path, benchmarks: Collection[str], environ: Mapping[str, str]
) -> GitSource:
    """Return the repository to ask for an agent. Raises InvalidAgent when the entry cannot be watched."""
    watch = agent.watch
    assert isinstance(watch, Watch)
    if absent := [benchmark for benchmark in watch.benchmarks if benchmark not in benchmarks]:
        known = ", ".join(f"`{benchmark}`" for benchmark in sorted(benchmarks)) or "none"
        raise InvalidAgent(f"`watch` names the benchmark `{absent[0]}`, which is not there; there are: {known}.")
    if "{ref}" not in agent.source:
        raise InvalidAgent("`watch` needs `{ref}` in `source`, where a new version goes; it has none.")
    text = watch.repository or agent.source
    if watch.repository and not text.startswith("git+"):
        text = f"git+{text}"
    source = parse_source(with_tokens(text, environ), ref="HEAD", base=base)
    if not isinstance(source, GitSource):
        raise InvalidAgent(
            f"`{source.redacted}` is no git repository that could be watched. Name one as `repository: git+https://…`."
        )
    # Only the repository matters here, so that agents of one repository share an answer.
    return GitSource(redacted=source.url, url=source.url, credentials=source.credentials)


def _ask(sources: list[GitSource], *, variables: Mapping[str, str]) -> dict[GitSource, Refs]:
    begun = time.monotonic()

    def ask(source: GitSource) -> Refs:
        if time.monotonic() - begun > DEADLINE_SEC:
            return EnvironmentFailed(f"`{source.url}` was not asked: others took longer than {DEADLINE_SEC:g} s.")
        try:
            return remote_refs(source, variables=variables, timeout_sec=TIMEOUT_SEC)
        except BenchError as fault:
            return fault

    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return dict(zip(sources, pool.map(ask, sources), strict=True))
