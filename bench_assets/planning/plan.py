"""Makes the plan of a run."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import DatasetFacts, read_questions
from bench_assets.contracts.agent import AgentSpec, Variant
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.contracts.plan import Plan
from bench_assets.planning.resuming import resumed
from bench_assets.planning.selection import select
from bench_assets.planning.settings import RunSettings
from bench_assets.planning.variables import digests, expand, seen

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

    `current` is the candidate's plan so far, which `settings.resume` and `settings.reuse_answers` go on with; None when
    there is none. Raises InvalidPlan for settings that make no run, and for a resume that would be another run.
    """
    spec = benchmark.spec
    now = datetime.now(UTC)
    selection = select(
        (question.id for question in read_questions(benchmark)),
        rows=facts.rows,
        limit=_or(settings.limit, spec.limit),
        sample=_or(settings.sample, spec.sample),
        seed=_or(settings.seed, spec.seed),
        repetitions=_or(settings.repetitions, spec.repetitions),
    )
    plan = Plan(
        run_id=settings.run_id or new_run_id(now),
        candidate=environment.candidate,
        benchmark=spec.id,
        description=settings.description,
        created_at=timestamp(now),
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
        seen_env=digests(seen(agent.env, environ)),
        variant_env=digests(expand(variant.env if variant else {}, environ)),
        env_overrides=digests(expand(settings.env_overrides, environ)),
        dagster_run_id=dagster_run_id,
        checkpoint_dir=settings.checkpoint_dir,
        resume=settings.resume,
    )
    if current is None or not (settings.resume or settings.reuse_answers):
        return plan
    if settings.resume:
        return resumed(plan, current, run_id=settings.run_id)
    return plan.model_copy(update={"reuse_from": current.run_id})


def _policy(defaults: ExecutionPolicy, settings: RunSettings) -> ExecutionPolicy:
    names = ExecutionPolicy.model_fields
    given = {name: value for name in names if (value := getattr(settings, name, None)) is not None}
    return ExecutionPolicy(**{**dict(defaults), **given})


def _or(given: Value | None, default: Value) -> Value:
    return default if given is None else given
