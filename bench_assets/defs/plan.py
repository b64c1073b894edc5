"""`plan`: the frozen decision what to run."""

import dagster as dg
from pydantic import Field

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.defs.partitions import benchmark_asset, candidates
from bench_assets.io_managers.records import Outputs, PartitionOutput, PartitionStream
from bench_assets.stages.workspace import Workspace


class PlanConfig(dg.Config):
    """Settings of one run. What is left out is taken from the benchmark's spec."""

    limit: int | None = Field(default=None, description="At most so many questions, taken after `sample`.")
    sample: int | None = Field(default=None, description="A random subset of so many questions.")
    seed: int | None = Field(
        default=None, description="Seed of `sample`; the same seed gives the same questions for ever."
    )
    repetitions: int | None = Field(default=None, description="How often each question is asked.")
    timeout_sec: float | None = Field(default=None, description="Seconds for one attempt at one question.")
    worker_ready_timeout_sec: float | None = Field(
        default=None, description="Seconds for a started worker to say that it is ready."
    )
    parallelism: int | None = Field(default=None, description="Workers at once.")
    concurrency: int | None = Field(default=None, description="Questions in flight in one worker of an async adapter.")
    retries: int | None = Field(default=None, description="Further attempts after one that failed.")
    retries_by_cause: dict[str, int] | None = Field(
        default=None, description="Another budget than `retries` by how an attempt ended, for instance {timeout: 0}."
    )
    retry_backoff_sec: float | None = Field(
        default=None, description="Pause before the second attempt; it doubles with each further one."
    )
    min_start_interval_sec: float | None = Field(
        default=None, description="Least seconds between two questions handed out, over all workers."
    )
    questions_per_worker: int | None = Field(
        default=None, description="Replace a worker after so many questions, for agents that leak."
    )
    checkpoint_dir: str | None = Field(
        default=None, description="Where settled answers go as they settle: a folder or s3://bucket/prefix."
    )
    checkpoint_flush_every: int | None = Field(default=None, description="On S3: settled answers a checkpoint object.")
    resume: bool = Field(
        default=False,
        description=(
            "Go on with the candidate's current run. Where only the benchmark's rows changed, a new run takes over the "
            "answers to unchanged questions. Other differences are refused, as they make another run."
        ),
    )
    reuse_answers: bool = Field(
        default=False,
        description="Start a new run, and take over the current run's answers where the execution is the same.",
    )
    description: str = Field(default="", description="Free text, kept in run.json.")
    env_overrides: dict[str, str] = Field(
        default={},
        description=(
            "Variables of the agent for this run; they win over all others. For a secret write ${NAME}: it is taken "
            "from the environment of bench-assets and stored nowhere."
        ),
    )
    run_id: str | None = Field(default=None, description="Use this id instead of a fresh one.")


def plan_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """Return the `plan` of a benchmark."""

    @benchmark_asset(
        benchmark,
        "plan",
        inputs=["agent_environment"],
        partitions=candidates,
        kinds={"python"},
        description=(
            f"What a run of {benchmark.spec.id} will ask: the chosen questions, limits, identities, the run_id. "
            "Materializing it again starts a new run; nothing is spent yet."
        ),
    )
    def plan(
        context: dg.AssetExecutionContext,
        config: PlanConfig,
        agent_environment: dict[str, EnvironmentRecord],
        workspace: dg.ResourceParam[Workspace],
    ) -> PartitionStream:
        return PartitionStream(_plans(context, config, agent_environment, workspace, benchmark), context)

    return plan


def _plans(
    context: dg.AssetExecutionContext,
    config: PlanConfig,
    environments: dict[str, EnvironmentRecord],
    workspace: Workspace,
    benchmark: Benchmark,
) -> Outputs:
    from bench_assets.planning.settings import RunSettings
    from bench_assets.stages.plan import plan_run

    settings = RunSettings.from_json(config.model_dump(), source="the run's configuration")
    for candidate in context.partition_keys:
        plan = plan_run(
            workspace,
            benchmark=benchmark,
            environment=environments[candidate],
            settings=settings,
            dagster_run_id=context.run.run_id,
        )
        metadata = {
            "run_id": plan.run_id,
            "questions": plan.selection.questions,
            "executions": plan.selection.executions,
            "questions_in_dataset": plan.total_rows,
            "repetitions": plan.selection.repetitions,
            "shards": plan.shards,
            "limits": dg.MetadataValue.json(plan.policy.to_json()),
            "judge": plan.judge.type if plan.judge.is_matcher else f"{plan.judge.provider}: {plan.judge.model}",
        }
        yield PartitionOutput(candidate, plan, metadata=metadata.copy)
