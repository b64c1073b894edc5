"""Step 2: the plan of a run."""

import json

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.contracts.plan import Plan
from bench_assets.errors import InvalidJudge, ObjectMissing, RunConflict
from bench_assets.judging.settings import effective_judge
from bench_assets.planning.plan import make_plan
from bench_assets.planning.settings import RunSettings
from bench_assets.stages.benchmark import check_benchmark
from bench_assets.stages.records import record_key
from bench_assets.stages.reuse import keep_plan, preview, read_plan
from bench_assets.stages.workspace import Workspace


def plan_run(
    workspace: Workspace,
    *,
    benchmark: Benchmark,
    environment: EnvironmentRecord,
    settings: RunSettings,
    dagster_run_id: str | None = None,
) -> Plan:
    """Decide a candidate's run on a benchmark. Nothing is asked or paid for.

    Raises InvalidInput for a bad row or settings that make no run, and RunConflict for a run_id that is taken.
    """
    _, agent, variant = workspace.candidates.resolve(environment.candidate)
    current = current_plan(workspace, benchmark=benchmark, candidate=environment.candidate)
    if settings.resume and current is None:
        workspace.reporter.say(f"{environment.candidate} has no run on {benchmark.spec.id} to resume: a new one starts")
    plan = make_plan(
        benchmark=benchmark,
        facts=check_benchmark(benchmark),
        environment=environment,
        agent=agent,
        variant=variant,
        settings=settings,
        environ=workspace.environ,
        dagster_run_id=dagster_run_id,
        current=current,
    )
    _claim(workspace, plan, benchmark)
    if plan.reuse_from is not None:
        workspace.reporter.say(f"from run {plan.reuse_from}: {preview(workspace, plan, benchmark)}")
    try:
        effective_judge(plan.judge, environ=workspace.environ, folder=workspace.project.folder)
    except InvalidJudge as fault:
        workspace.reporter.say(f"the answers can be collected, but not judged yet: {fault}")
    return plan


def current_plan(workspace: Workspace, *, benchmark: Benchmark, candidate: str) -> Plan | None:
    """Return a candidate's plan on a benchmark; None when there is none."""
    folder = f"{benchmark.spec.name}/{benchmark.spec.version}/plan"
    key = record_key(folder, partition=candidate, suffix=".json")
    try:
        return Plan.from_json(json.loads(workspace.store.read(key)), source=workspace.store.url(key))
    except ObjectMissing:
        return None


def _claim(workspace: Workspace, plan: Plan, benchmark: Benchmark) -> None:
    """Refuse a run_id that another plan has taken, before anything is spent under it."""
    if keep_plan(workspace, plan, benchmark):
        return
    taken = read_plan(workspace, plan.run_id)
    if taken.identity != plan.identity or taken.candidate != plan.candidate:
        raise RunConflict(
            f"the run_id `{plan.run_id}` is taken by a run of `{taken.candidate}` on `{taken.benchmark}`, planned "
            "otherwise. Choose another run_id, or leave it out for a fresh one."
        )
