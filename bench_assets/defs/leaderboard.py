"""`leaderboard`: all candidates of a benchmark in one table."""

from typing import Any

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.run import FinishedRun
from bench_assets.defs.partitions import benchmark_asset, candidates
from bench_assets.io_managers.records import Outputs, PartitionOutput, PartitionStream
from bench_assets.stages.workspace import Workspace


def leaderboard_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """Return the `leaderboard` of a benchmark."""

    @benchmark_asset(
        benchmark,
        "leaderboard",
        inputs=["summary"],
        partitions=None,
        kinds={"python"},
        description=(
            f"Every candidate that has run {benchmark.spec.id}, the best first, each against the accepted one. "
            "Candidates without a finished run are named."
        ),
        # It reads what `comparison` stored, but is not behind it: its check would keep a NO-GO off the leaderboard.
        # So it comes last in a run that makes both. The executor goes by this tag.
        op_tags={"dagster/priority": "-1"},
    )
    def leaderboard(
        context: dg.AssetExecutionContext, summary: dict[str, FinishedRun], workspace: dg.ResourceParam[Workspace]
    ) -> PartitionStream:
        return PartitionStream(_board(context, summary, workspace, benchmark), context)

    return leaderboard


def _board(
    context: dg.AssetExecutionContext, summaries: dict[str, FinishedRun], workspace: Workspace, benchmark: Benchmark
) -> Outputs:
    from bench_assets.analysis.markdown import leaderboard_table
    from bench_assets.analysis.report.picture import history_picture
    from bench_assets.stages.standings import board, history_of

    made = board(
        workspace,
        benchmark.spec.id,
        policy=benchmark.spec.gate,
        known=candidates.get_partition_keys(dynamic_partitions_store=context.instance),
        newest=summaries.values(),
    )
    metadata: dict[str, Any] = {
        "leaderboard": dg.MetadataValue.md(leaderboard_table(made)),
        "candidates": len(made.standings),
        "missing": len(made.missing),
    }
    if made.standings:
        best = made.standings[0]
        metadata |= {"best": best.candidate}
        if best.accuracy is not None:
            metadata["best_accuracy"] = round(best.accuracy, 4)
        picture = history_picture(history_of(workspace, benchmark.spec.id), current=best.run_id)
        metadata["history"] = dg.MetadataValue.md(f"![Accuracy of all candidates]({picture})")
    yield PartitionOutput(None, made, metadata=metadata.copy)
