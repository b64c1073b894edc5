"""What is written down of a build."""

from datetime import UTC, datetime
from hashlib import sha256

from packaging.requirements import Requirement

from bench_assets.contracts.environment import EnvironmentRecord, ResolvedSource
from bench_assets.environments.lock_text import locked_version
from bench_assets.environments.resolve import Resolved, ResolvedRequest
from bench_assets.environments.source_records import RequirementSource, distribution


def record_of(resolved: ResolvedRequest, *, lock: str, seconds: float) -> EnvironmentRecord:
    """Describe an environment that was just built; `seconds` is how long that took."""
    return EnvironmentRecord(
        candidate=resolved.request.candidate,
        fingerprint=resolved.fingerprint,
        source=_installed(resolved.source, lock=lock),
        extra_deps=[_installed(dep, lock=lock) for dep in resolved.extra_deps],
        worker=_installed(resolved.worker, lock=lock),
        entry_point=resolved.request.entry_point,
        import_path=resolved.request.import_path,
        python=resolved.interpreter.version,
        platform=resolved.interpreter.platform,
        abi=resolved.interpreter.abi,
        lock=lock,
        lock_digest=sha256(lock.encode("utf-8")).hexdigest(),
        package_count=sum(bool(line.strip()) for line in lock.splitlines()),
        built_at=datetime.now(UTC).isoformat(timespec="microseconds"),
        build_seconds=round(seconds, 3),
    )


def described_for(resolved: ResolvedRequest, *, built: EnvironmentRecord) -> EnvironmentRecord:
    """Return the record of an environment that was built earlier, in the words of the request that found it now."""
    return built.model_copy(
        update={
            "candidate": resolved.request.candidate,
            "source": _installed(resolved.source, lock=built.lock),
            "extra_deps": [_installed(dep, lock=built.lock) for dep in resolved.extra_deps],
            "worker": _installed(resolved.worker, lock=built.lock),
        }
    )


def _installed(resolved: Resolved, *, lock: str) -> ResolvedSource:
    if not isinstance(resolved.source, RequirementSource) or resolved.source.pinned:
        return resolved.record
    requirement = Requirement(resolved.source.requirement)
    version = locked_version(lock, name=requirement.name)
    if version is None:
        return resolved.record
    pinned = f"{distribution(requirement.name, tuple(sorted(requirement.extras)))}=={version}"
    return resolved.record.model_copy(update={"requirement": pinned})
