"""Makes the plan of a run."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import DatasetFacts, read_questions
from bench_assets.contracts.agent import AgentSpec, Variant
from bench_assets.contracts.base import JsonValue, digest
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.contracts.plan import OverriddenVariable, Plan
from bench_assets.errors import InvalidPlan
from bench_assets.planning.selection import select
from bench_assets.planning.settings import RunSettings
from bench_assets.planning.variables import expand

Value = TypeVar("Value")


def new_run_id(now: datetime) -> str:
    """Return `YYYYMMDD-HHMMSS-xxxxxxxx`: UTC time and eight random hex digits."""
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def timestamp(now: datetime | None = None) -> str:
    """Return a time as ISO 8601, UTC, with microseconds. None means now."""
    return (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="microseconds")


def make_plan(
    *,
    benchmark: Benchmark,
    facts: DatasetFacts,
    environment: EnvironmentRecord,
    agent: AgentSpec,
    variant: Variant | None,
    settings: RunSettings,
    environ: Mapping[str, str],
    dagster_run_id: str | None = None,
    current: Plan | None = None,
) -> Plan:
    """Decide a run on a benchmark whose rows were checked, which gave `facts`.

    `current` is the candidate's plan so far, which `settings.resume` goes on with; None when there is none. Raises
    InvalidPlan for settings that make no run, and for a resume whose conditions differ from those of `current`.
    """
    spec = benchmark.spec
    now = datetime.now(UTC)
    resumed = current if settings.resume else None
    if resumed is not None and settings.run_id not in (None, resumed.run_id):
        raise InvalidPlan(
            f"run `{settings.run_id}` cannot be resumed: the current run of `{environment.candidate}` on `{spec.id}` "
            f"is `{resumed.run_id}`. Leave the run_id out to go on with that, or leave `resume` out for a new run."
        )
    selection = select(
        (question.id for question in read_questions(benchmark)),
        rows=facts.rows,
        limit=_or(settings.limit, spec.limit),
        sample=_or(settings.sample, spec.sample),
        seed=_or(settings.seed, spec.seed),
        repetitions=_or(settings.repetitions, spec.repetitions),
    )
    plan = Plan(
        run_id=resumed.run_id if resumed else settings.run_id or new_run_id(now),
        candidate=environment.candidate,
        benchmark=spec.id,
        description=settings.description,
        created_at=resumed.created_at if resumed else timestamp(now),
        dataset=spec.dataset,
        dataset_digest=facts.digest,
        spec_digest=benchmark.spec_digest,
        total_rows=facts.rows,
        selection=selection,
        shards=spec.shards,
        policy=_policy(spec.policy, settings),
        judge=spec.judge,
        environment=environment,
        kwargs={**agent.kwargs, **(variant.kwargs if variant else {})},
        agent_env=sorted(set(agent.env)),
        variant_env=_digests(variant.env if variant else {}, environ),
        env_overrides=_digests(settings.env_overrides, environ),
        dagster_run_id=dagster_run_id,
        checkpoint_dir=settings.checkpoint_dir,
        resume=settings.resume,
    )
    if resumed is not None and resumed.identity != plan.identity:
        raise InvalidPlan(
            f"run `{resumed.run_id}` cannot be resumed, because this would be another run. It differs in: "
            f"{'; '.join(differences(resumed, plan))}. Leave `resume` out to start a new run."
        )
    return plan


def differences(old: Plan, new: Plan) -> list[str]:
    """Return what tells two plans apart, as `field: old → new`, sorted; digests cut to 12 digits."""
    before, after = _flat(old.identity_fields()), _flat(new.identity_fields())
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return [f"{name}: {_short(before.get(name))} → {_short(after.get(name))}" for name in names]


def _flat(fields: Mapping[str, JsonValue], prefix: str = "") -> dict[str, JsonValue]:
    flat: dict[str, JsonValue] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _short(value: JsonValue) -> str:
    if isinstance(value, str) and len(value) == 64:
        return value[:12]
    if isinstance(value, list):
        return f"[{len(value)} items, {digest(value)[:12]}]"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _policy(defaults: ExecutionPolicy, settings: RunSettings) -> ExecutionPolicy:
    names = ExecutionPolicy.model_fields
    given = {name: value for name in names if (value := getattr(settings, name, None)) is not None}
    return ExecutionPolicy(**{**dict(defaults), **given})


def _digests(values: Mapping[str, str], environ: Mapping[str, str]) -> list[OverriddenVariable]:
    expanded = expand(values, environ)
    return [OverriddenVariable(name=name, digest=digest([name, expanded[name]])) for name in sorted(expanded)]


def _or(given: Value | None, default: Value) -> Value:
    return default if given is None else given
