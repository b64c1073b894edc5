"""What `run.json` says of where a run came from."""

import subprocess
from functools import cache
from pathlib import Path

from bench_assets import __version__
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.plan import Plan, RunStatus
from bench_assets.contracts.run import RunRecord
from bench_assets.contracts.score import JudgeIdentity
from bench_assets.planning.plan import timestamp
from bench_assets.redaction import redact_settings
from bench_assets.stages.scores import judge_of
from bench_assets.stages.workspace import Workspace


def run_record(
    workspace: Workspace,
    plan: Plan,
    *,
    status: RunStatus,
    describe: dict[str, JsonValue] | None,
    judge_identity: JudgeIdentity | None,
    dagster_run_ids: list[str],
) -> RunRecord:
    """Return the run.json of a plan, as far as it has come."""
    environment = plan.environment
    return RunRecord(
        run_id=plan.run_id,
        status=status,
        start_time=plan.created_at,
        finish_time=timestamp() if status == "finished" else None,
        candidate=plan.candidate,
        benchmark=plan.benchmark,
        dataset=plan.dataset,
        description=plan.description,
        agent_source=environment.source.text,
        agent_entry_point=environment.entry_point,
        agent_import_path=environment.import_path,
        agent_extra_deps=[source.text for source in environment.extra_deps],
        worker_source=environment.worker.text,
        commit=environment.source.commit,
        dirty=environment.source.dirty,
        timeout=plan.policy.timeout_sec,
        worker_ready_timeout=plan.policy.worker_ready_timeout_sec,
        limit=plan.selection.limit,
        sample=plan.selection.sample,
        seed=plan.selection.seed,
        repeats=plan.selection.repetitions,
        parallelism=plan.policy.parallelism,
        retries=plan.policy.retries,
        retry_backoff_sec=plan.policy.retry_backoff_sec,
        checkpoint_dir=plan.checkpoint_dir or workspace.store.url("checkpoints"),
        checkpoint_flush_every=plan.policy.checkpoint_flush_every,
        resume=plan.resume,
        selection=plan.selection,
        policy=plan.policy,
        plan_identity=plan.identity,
        dataset_digest=plan.dataset_digest,
        spec_digest=plan.spec_digest,
        total_rows=plan.total_rows,
        environment=environment.model_copy(update={"lock": ""}),
        describe=describe,
        kwargs=redact_settings(plan.kwargs),
        agent_env=plan.agent_env,
        env_overrides={item.name: "***" for item in (*plan.variant_env, *plan.env_overrides)},
        judge=judge_of(workspace, plan).redacted(),
        judge_identity=judge_identity,
        scorer=plan.judge.type,
        bench_assets_version=__version__,
        bench_assets_commit=_own_commit(),
        dagster_run_ids=dagster_run_ids,
    )


@cache
def _own_commit() -> str | None:
    """Return the commit of our own code; None where it does not run from a git checkout."""
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
