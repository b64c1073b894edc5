"""`answers`: what the agent said."""

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.plan import Plan
from bench_assets.defs.partitions import benchmark_asset, grid, split
from bench_assets.io_managers.records import Outputs, PartitionOutput, PartitionStream
from bench_assets.resources.tables import Samples
from bench_assets.stages.workspace import Workspace

if TYPE_CHECKING:
    from bench_assets.stages.answers import AnswerStage


class AnswersConfig(dg.Config):
    """What is asked, and how that is logged."""

    only: str | None = Field(
        default=None,
        description=(
            "What to ask of what has no answer yet: `errored`, `errored:timeout` (or another kind), `missing` or "
            "`changed`; `unscored` and `judge_error` ask nothing. Default: everything."
        ),
    )

    log_ipc: bool = Field(default=False, description="Log every message between bench-assets and its workers.")


def answers_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """Return the `answers` of a benchmark."""

    @benchmark_asset(
        benchmark,
        "answers",
        inputs=["plan"],
        partitions=grid(benchmark),
        kinds={"python"},
        pool="answers",
        description=(
            f"The agent's answers to {benchmark.spec.id}, from worker processes in the agent's own environment. "
            "Materializing a shard again asks only what has no answer yet."
        ),
    )
    def answers(
        context: dg.AssetExecutionContext,
        config: AnswersConfig,
        plan: dict[str, Plan],
        workspace: dg.ResourceParam[Workspace],
    ) -> PartitionStream:
        return PartitionStream(_answers(context, config, plan, workspace, benchmark), context)

    return answers


def _answers(
    context: dg.AssetExecutionContext,
    config: AnswersConfig,
    plans: dict[str, Plan],
    workspace: Workspace,
    benchmark: Benchmark,
) -> Outputs:
    from bench_assets.planning.only import Only
    from bench_assets.stages.answers import AnswerStage

    partitions = sorted(str(key) for key in context.partition_keys)
    only = Only(config.only) if config.only else None
    for candidate, shards in groupby(partitions, key=lambda partition: split(partition)[0]):
        plan = plans[candidate]
        given = _given_variables(context, plan)
        stage = AnswerStage(workspace, plan, benchmark, env_overrides=given, only=only, log_ipc=config.log_ipc)
        with stage:
            for shard in stage.in_turn(split(partition)[1] for partition in shards):
                yield _shard(stage, f"{candidate}|{shard}")


def _shard(stage: "AnswerStage", partition: str) -> PartitionOutput:
    from bench_assets.stages.answers import ShardCounts

    counts, samples = ShardCounts(), Samples[AnswerRecord]()
    records = samples.watch(stage.shard(split(partition)[1], counts), bad=lambda record: record.error is not None)

    def metadata() -> Mapping[str, Any]:
        return {
            "executions": counts.planned,
            "answered": counts.answered,
            "errors": counts.errors,
            "asked": counts.asked,
            "reused": counts.reused,
            "worker_logs": dg.MetadataValue.path(str(stage.logs)),
            "failures": samples.table(
                samples.bad, id=lambda r: r.id, kind=lambda r: r.error and r.error.kind, error=_message
            ),
            "samples": samples.table(
                samples.good, id=lambda r: r.id, question=lambda r: r.question, answer=lambda r: r.answer
            ),
        }

    return PartitionOutput(partition, records, metadata=metadata)


def _message(record: AnswerRecord) -> str:
    return record.error.message if record.error else ""


def _given_variables(context: dg.AssetExecutionContext, plan: Plan) -> dict[str, str]:
    """Return the run's own variables of the agent, from the configuration of the Dagster run that made the plan.

    They may be secrets, so the plan holds only their digests, and the values stay where the person typed them.
    """
    if not plan.env_overrides:
        return {}
    run = context.instance.get_run_by_id(plan.dagster_run_id or "")
    ops = run.run_config.get("ops", {}) if run else {}
    for op in ops.values():
        given = op.get("config", {}).get("env_overrides")
        if given:
            return dict(given)
    raise dg.Failure(
        f"The plan of run {plan.run_id} has variables for the agent whose values stand in the Dagster run "
        f"{plan.dagster_run_id}, which is gone. Materialize `plan` again with `env_overrides`.",
        allow_retries=False,
    )
