"""`scores`: what the judge or matcher made of the answers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import dagster as dg
from pydantic import Field

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.plan import Plan
from bench_assets.contracts.score import ScoreRecord
from bench_assets.defs.partitions import benchmark_asset, grid, split
from bench_assets.io_managers.records import Outputs, PartitionOutput, PartitionStream
from bench_assets.resources.tables import Samples
from bench_assets.stages.records import AnswerFile
from bench_assets.stages.workspace import Workspace

Answers = dict[str, AnswerFile]


class ScoresConfig(dg.Config):
    """How the answers are judged."""

    verdict_cache: bool = Field(
        default=True,
        description=(
            "Take an LLM judge's earlier verdict on the same question, golden and answer. False judges everything anew "
            "and keeps nothing, to measure how much the judge wavers."
        ),
    )


def scores_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """Return the `scores` of a benchmark."""

    @benchmark_asset(
        benchmark,
        "scores",
        inputs=["plan", "answers"],
        partitions=grid(benchmark),
        kinds={"python"} if benchmark.spec.judge.is_matcher else {"openai"},
        pool=None if benchmark.spec.judge.is_matcher else f"judge_{benchmark.spec.judge.provider}",
        description=(
            f"A verdict on each answer to {benchmark.spec.id}, by `{benchmark.spec.judge.type}`: "
            "correct, incorrect or not_attempted. What the judge cannot tell is an error of its own, never `incorrect`."
        ),
    )
    def scores(
        context: dg.AssetExecutionContext,
        config: ScoresConfig,
        plan: dict[str, Plan],
        answers: Answers,
        workspace: dg.ResourceParam[Workspace],
    ) -> PartitionStream:
        return PartitionStream(_scores(context, config, plan, answers, workspace), context)

    return scores


def _scores(
    context: dg.AssetExecutionContext,
    config: ScoresConfig,
    plans: dict[str, Plan],
    answers: Answers,
    workspace: Workspace,
) -> Outputs:
    from bench_assets.stages.scores import score_shard, scorer_of

    partitions = sorted(str(key) for key in context.partition_keys)
    for candidate, shards in groupby(partitions, key=lambda partition: split(partition)[0]):
        with scorer_of(workspace, plans[candidate], verdict_cache=config.verdict_cache) as scorer:
            for partition in shards:
                records = score_shard(
                    workspace,
                    plans[candidate],
                    shard=split(partition)[1],
                    answers=answers[partition],
                    scorer=scorer,
                )
                yield _shard(partition, records)


def _shard(partition: str, scored: Iterator[ScoreRecord]) -> PartitionOutput:
    counts: Counter[str] = Counter()
    samples = Samples[ScoreRecord]()

    kept = 0

    def counted() -> Iterator[ScoreRecord]:
        nonlocal kept
        for score in scored:
            counts[score.outcome] += 1
            kept += score.cached
            yield score

    def metadata() -> Mapping[str, Any]:
        total = counts.total()
        return {
            **({"accuracy": round(counts["correct"] / total, 4)} if total else {}),
            "scored": total,
            **{outcome: counts[outcome] for outcome in ("correct", "incorrect", "not_attempted")},
            "judge_errors": counts["judge_error"],
            "kept_verdicts": kept,
            "failures": samples.table(
                samples.bad, id=lambda r: r.id, outcome=lambda r: r.outcome, reason=lambda r: r.reason
            ),
        }

    watched = samples.watch(counted(), bad=lambda score: score.label != "correct")
    return PartitionOutput(partition, watched, metadata=metadata)
