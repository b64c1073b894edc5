"""From sources to what they mean at this moment: commits, digests, newest versions; and one fingerprint over it all."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from uv import find_uv_bin

from bench_assets.contracts.base import JsonValue, digest
from bench_assets.contracts.environment import ResolvedSource
from bench_assets.environments.child_process import run_child
from bench_assets.environments.git import resolve_commit, work_tree_state
from bench_assets.environments.interpreters import Interpreter
from bench_assets.environments.local_project import project_digest
from bench_assets.environments.request import EnvironmentRequest
from bench_assets.environments.source_records import (
    GitSource,
    LocalSource,
    RequirementSource,
    Source,
    distribution,
)
from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor, redact_url

FINGERPRINT_SCHEME = 1
"""Raised when the same request must no longer find what an older release has built."""

NEWEST_TIMEOUT_SEC = 120.0
NEWEST_LIMIT = "the time for looking up a requirement's newest version"


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A source, and what it means now."""

    source: Source
    record: ResolvedSource
    identity: Mapping[str, JsonValue]
    """What of it goes into the fingerprint. No path of this machine, no credentials."""
    install: str = field(repr=False)
    """The line for uv; may hold credentials. A local source's is its path here, a build puts that of its copy."""


@dataclass(frozen=True, kw_only=True)
class ResolvedRequest:
    """A request, and what it means now."""

    request: EnvironmentRequest
    interpreter: Interpreter
    source: Resolved
    extra_deps: tuple[Resolved, ...]
    worker: Resolved

    @property
    def all(self) -> tuple[Resolved, ...]:
        """The agent's, the extra ones, the worker's."""
        return (self.source, *self.extra_deps, self.worker)

    @property
    def fingerprint(self) -> str:
        """64 hex digits over everything that decides what is installed, and how the adapter is reached."""
        return digest(
            {
                "scheme": FINGERPRINT_SCHEME,
                "source": self.source.identity,
                "extra_deps": sorted((dep.identity for dep in self.extra_deps), key=digest),
                "worker": self.worker.identity,
                "entry_point": self.request.entry_point,
                "import_path": self.request.import_path,
                "python": [self.interpreter.implementation, self.interpreter.version, self.interpreter.abi],
                "platform": self.interpreter.platform,
            }
        )


def resolve_request(
    request: EnvironmentRequest, *, interpreter: Interpreter, variables: Mapping[str, str], refresh: bool = False
) -> ResolvedRequest:
    """Look up what every source of a request means now. `refresh` asks package indexes anew instead of uv's cache.

    Raises EnvironmentFailed when a repository or an index does not give an answer, InvalidAgent when a local tree
    cannot be read.
    """
    commits: dict[tuple[str, str | None], str] = {}

    def resolve(source: Source) -> Resolved:
        if isinstance(source, LocalSource):
            return _resolve_local(source, variables=variables)
        if isinstance(source, GitSource):
            # Asked once for all packages of a repository: so they are of one commit, whatever is pushed meanwhile.
            asked = (source.url, source.ref)
            commits[asked] = commits.get(asked) or resolve_commit(source, variables=variables)
            return _resolve_git(source, commit=commits[asked])
        return _resolve_requirement(source, interpreter=interpreter, variables=variables, refresh=refresh)

    return ResolvedRequest(
        request=request,
        interpreter=interpreter,
        source=resolve(request.source),
        extra_deps=tuple(resolve(dep) for dep in request.extra_deps),
        worker=resolve(request.worker),
    )


def local_line(source: LocalSource, *, url: str) -> str:
    """Return uv's line for a local source that lies at `url`."""
    if source.name is not None:
        return f"{distribution(source.name, source.extras)} @ {url}"
    return distribution(url, source.extras)


def _resolve_local(source: LocalSource, *, variables: Mapping[str, str]) -> Resolved:
    tree = project_digest(source.path)
    state = work_tree_state(source.path, variables=variables)
    record = ResolvedSource(
        kind="local",
        text=source.redacted,
        requirement=distribution(str(source.path), source.extras),
        commit=state.commit if state else None,
        dirty=state.dirty if state else None,
        tree=tree,
    )
    identity = {"kind": "local", "tree": tree, "extras": list(source.extras)}
    return Resolved(
        source=source, record=record, identity=identity, install=local_line(source, url=source.path.as_uri())
    )


def _resolve_git(source: GitSource, *, commit: str) -> Resolved:
    line = source.at(commit)
    record = ResolvedSource(kind="git", text=source.redacted, requirement=line, commit=commit, ref=source.ref)
    identity = {
        "kind": "git",
        "url": source.url,
        "commit": commit,
        "subdirectory": source.subdirectory,
        "extras": list(source.extras),
    }
    return Resolved(source=source, record=record, identity=identity, install=line)


def _resolve_requirement(
    source: RequirementSource, *, interpreter: Interpreter, variables: Mapping[str, str], refresh: bool
) -> Resolved:
    shown = redact_url(source.requirement)
    # What is installed is settled together with everything else. The newest version only tells whether the same text
    # means something else than last time.
    newest = None
    if not source.pinned:
        newest = _newest(source, interpreter=interpreter, variables=variables, refresh=refresh)
    return Resolved(
        source=source,
        record=ResolvedSource(kind="requirement", text=source.redacted, requirement=shown),
        identity={"kind": "requirement", "requirement": _spelled_alike(shown), "newest": newest},
        install=source.requirement,
    )


def _spelled_alike(requirement: str) -> str:
    if "://" in requirement:
        return requirement
    parsed = Requirement(requirement)
    parsed.name = canonicalize_name(parsed.name)
    return str(parsed)


def _newest(source: RequirementSource, *, interpreter: Interpreter, variables: Mapping[str, str], refresh: bool) -> str:
    """Return `name==version` of the newest release that the requirement allows; empty when its marker excludes it."""
    argv = [find_uv_bin(), "pip", "compile", "--quiet", "--no-deps", "--no-header", "--no-annotate", "--color=never"]
    result = run_child(
        [*argv, *(["--refresh"] if refresh else []), f"--python={interpreter.path}", "-"],
        variables=variables,
        timeout_sec=NEWEST_TIMEOUT_SEC,
        limit=NEWEST_LIMIT,
        redact=Redactor(source.secrets),
        stdin=f"{source.requirement}\n",
    )
    if result.returncode != 0:
        raise EnvironmentFailed(
            f"No release of `{source.redacted}` was found for Python {interpreter.version}. uv said:\n{result.tail}"
        )
    return result.stdout.strip()
