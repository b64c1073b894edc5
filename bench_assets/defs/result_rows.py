"""`result_rows`: a finished run as rows in Postgres."""

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.run import FinishedRun
from bench_assets.defs.partitions import benchmark_asset, candidates
from bench_assets.resources.failures import as_failures
from bench_assets.stages.workspace import Workspace


def result_rows_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """Return the `result_rows` of a benchmark."""

    @benchmark_asset(
        benchmark,
        "result_rows",
        inputs=["summary"],
        partitions=candidates,
        kinds={"postgres"},
        description=(
            f"The runs of {benchmark.spec.id} as rows in Postgres (`runs`, `run_metrics`, `executions`), a transaction "
            "each. The same run twice changes nothing; another one under the same run_id is refused."
        ),
    )
    def result_rows(
        context: dg.AssetExecutionContext, summary: dict[str, FinishedRun], workspace: dg.ResourceParam[Workspace]
    ) -> None:
        from bench_assets.stages.rows import store_rows

        with as_failures():
            for candidate in context.partition_keys:
                finished = summary[candidate]
                stored = store_rows(workspace, finished.run_id)
                context.add_asset_metadata(
                    {"run_id": finished.run_id, "executions": finished.summary.total, "stored": stored},
                    partition_key=candidate,
                )

    return result_rows
