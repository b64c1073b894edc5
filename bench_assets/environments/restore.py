"""Turning the record of an environment, perhaps from another machine, back into something that can be built."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench_assets.contracts.environment import EnvironmentRecord, ResolvedSource
from bench_assets.environments.interpreters import Interpreter
from bench_assets.environments.local_project import project_name
from bench_assets.environments.lock_text import local_places
from bench_assets.environments.places import default_worker_source
from bench_assets.environments.request import EnvironmentRequest
from bench_assets.environments.resolve import Resolved, ResolvedRequest, resolve_request
from bench_assets.environments.source import parse_source
from bench_assets.environments.source_records import GitSource, LocalSource, RequirementSource, Source
from bench_assets.errors import EnvironmentFailed, InvalidAgent


def resolve_recorded(
    record: EnvironmentRecord,
    *,
    request: EnvironmentRequest | None,
    interpreter: Interpreter,
    variables: Mapping[str, str],
) -> ResolvedRequest:
    """Return what `record` was built of, with the paths and credentials of this machine.

    Git sources are taken at the recorded commits, so no repository is asked. Raises EnvironmentFailed when this
    machine is of another kind, or when a local source is missing or has other content than the record says.
    """
    _check_machine(record, interpreter)
    recorded = (record.source, *record.extra_deps, record.worker)
    try:
        sources = request.sources if request is not None else tuple(_source_of(item, record) for item in recorded)
        if len(sources) != len(recorded):
            raise EnvironmentFailed(
                f"The environment of `{record.candidate}` was built of {len(recorded)} sources, but {len(sources)} are "
                "given to restore it. Give the same ones."
            )
        pinned = [_pinned(source, item) for source, item in zip(sources, recorded, strict=True)]
        resolved = resolve_request(
            EnvironmentRequest(
                candidate=record.candidate,
                source=pinned[0],
                extra_deps=tuple(pinned[1:-1]),
                worker=pinned[-1],
                entry_point=record.entry_point,
                import_path=record.import_path,
            ),
            interpreter=interpreter,
            variables=variables,
        )
    except InvalidAgent as error:
        raise EnvironmentFailed(f"The environment of `{record.candidate}` cannot be restored here: {error}") from error
    for found, item in zip(resolved.all, recorded, strict=True):
        _check_source(found, item, record)
    return resolved


def moved_sources(record: EnvironmentRecord, resolved: ResolvedRequest) -> dict[Path, Path]:
    """Return, for each local source, where it lay when it was recorded or locked, and where it lies here.

    The two differ where an environment was built of a tree and later found for an equal one under another path.
    """
    recorded = (record.source, *record.extra_deps, record.worker)
    locked = local_places(record.lock)
    moved: dict[Path, Path] = {}
    for found, item in zip(resolved.all, recorded, strict=True):
        if isinstance(found.source, LocalSource):
            here = found.source.path
            moved[Path(_without_extras(item.requirement, found.source))] = here
            if (there := locked.get(project_name(here) or "")) is not None:
                moved[there] = here
    return moved


def _check_machine(record: EnvironmentRecord, interpreter: Interpreter) -> None:
    there = (record.platform, record.python, record.abi or interpreter.abi)
    here = (interpreter.platform, interpreter.version, interpreter.abi)
    if there != here:
        raise EnvironmentFailed(
            f"The environment of `{record.candidate}` was built for Python {there[1]} on `{there[0]}` (`{there[2]}`), "
            f"but here is Python {here[1]} on `{here[0]}` (`{here[2]}`). Build it here by materializing "
            "`agent_environment`, which makes a new plan."
        )


def _source_of(item: ResolvedSource, record: EnvironmentRecord) -> Source:
    if item is record.worker and item.kind == "local":
        return default_worker_source()
    return parse_source(item.requirement, base=Path("/"))


def _pinned(source: Source, item: ResolvedSource) -> Source:
    if isinstance(source, GitSource) and item.commit is not None:
        return replace(source, ref=item.commit)
    # The lock says the version: nothing is left to look up.
    return replace(source, pinned=True) if isinstance(source, RequirementSource) else source


def _check_source(found: Resolved, item: ResolvedSource, record: EnvironmentRecord) -> None:
    if found.record.kind != item.kind:
        raise EnvironmentFailed(
            f"The environment of `{record.candidate}` was built of `{item.text}`, but `{found.record.text}` is given "
            "to restore it."
        )
    if found.record.tree != item.tree and item is record.worker:
        raise EnvironmentFailed(
            f"The environment of `{record.candidate}` was built with another worker than `{found.record.requirement}`: "
            "bench-assets has changed since. Use that release, or materialize `agent_environment` again, which makes a "
            "new plan."
        )
    if found.record.tree != item.tree:
        raise EnvironmentFailed(
            f"`{found.record.requirement}` is not what the environment of `{record.candidate}` was built of: its files "
            "have changed since. Put them back, or materialize `agent_environment` again, which makes a new plan."
        )


def _without_extras(requirement: str, source: LocalSource) -> str:
    return requirement.removesuffix(f"[{','.join(source.extras)}]") if source.extras else requirement
