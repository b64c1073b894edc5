"""Step 1: the agent's environment."""

from bench_assets.contracts.agent import AgentSpec, CandidateKey
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.environments.cache import Built, default_worker_source
from bench_assets.environments.request import EnvironmentRequest
from bench_assets.environments.source import parse_source
from bench_assets.environments.source_records import GitSource, LocalSource, Source
from bench_assets.environments.tokens import with_tokens
from bench_assets.errors import InvalidAgent
from bench_assets.stages.shared_environments import SharedEnvironments
from bench_assets.stages.workspace import Workspace


def own_ref(source: Source) -> str:
    """Return the ref that a source names by itself: git's, or a requirement's version; `local` for a path.

    `HEAD` where it names none.
    """
    if isinstance(source, LocalSource):
        return "local"
    if isinstance(source, GitSource):
        return source.ref or "HEAD"
    return source.redacted.partition("==")[2].strip() or "HEAD"


def environment_request(
    workspace: Workspace, *, key: CandidateKey, agent: AgentSpec, worker_source: str | None = None
) -> EnvironmentRequest:
    """Return what is to be installed for a candidate. Raises InvalidAgent for sources that cannot be parsed."""
    base, environ = workspace.project.folder, workspace.environ
    source = parse_source(with_tokens(agent.source, environ), ref=key.ref, base=base)
    if "{ref}" not in agent.source and not isinstance(source, LocalSource) and key.ref != own_ref(source):
        raise InvalidAgent(
            f"`{key}` asks for `{key.ref}`, but the source of `{key.agent}` is `{source.redacted}` whatever the ref. "
            f"Write `{{ref}}` into it where the ref goes, or take `{key.agent}@{own_ref(source)}`."
        )
    return EnvironmentRequest(
        candidate=str(key),
        source=source,
        extra_deps=tuple(parse_source(with_tokens(text, environ), ref=key.ref, base=base) for text in agent.extra_deps),
        worker=parse_source(worker_source, base=base) if worker_source else default_worker_source(),
        entry_point=agent.entry_point,
        import_path=agent.import_path,
        python=agent.python,
    )


def build_environment(
    workspace: Workspace, candidate: str, *, invalidate: bool = False, worker_source: str | None = None
) -> Built:
    """Build a candidate's environment, or find it in the cache. Raises InvalidAgent and EnvironmentFailed."""
    key, agent, _ = workspace.candidates.resolve(candidate)
    request = environment_request(workspace, key=key, agent=agent, worker_source=worker_source)
    shared = _shared(workspace)
    built = (shared or workspace.environments).ensure(request, invalidate=invalidate)
    how = "reused" if built.reused else "built"
    workspace.reporter.say(f"environment of {candidate} {how} in {built.seconds:.2f} s")
    return built


def open_environment(workspace: Workspace, record: EnvironmentRecord) -> str:
    """Return the interpreter of a recorded environment, restoring it from its lock where it is not on this machine.

    Raises EnvironmentFailed when what can be restored here is not what was recorded.
    """
    if (python := workspace.environments.open(record)) is not None:
        return str(python)
    try:
        key, agent, _ = workspace.candidates.resolve(record.candidate)
        worker = None if record.worker.kind == "local" else record.worker.requirement
        request = environment_request(workspace, key=key, agent=agent, worker_source=worker)
    except InvalidAgent:
        request = None  # a path that is not on this machine, or an agent that is no longer listed
    shared = _shared(workspace)
    workspace.reporter.say(f"restoring the environment of {record.candidate} from its lock")
    return str((shared or workspace.environments).restore(record, request=request))


def _shared(workspace: Workspace) -> SharedEnvironments | None:
    if not workspace.project.storage.startswith("s3://"):
        return None
    return SharedEnvironments(workspace.environments, workspace.store, reporter=workspace.reporter)
