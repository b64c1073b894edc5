"""`comparison`: a candidate against its baseline, and the gate's verdict on it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.run import FinishedRun
from bench_assets.defs.partitions import asset_key, benchmark_asset, candidates
from bench_assets.io_managers.records import Outputs, PartitionOutput, PartitionStream
from bench_assets.resources.failures import as_failures
from bench_assets.stages.workspace import Workspace

if TYPE_CHECKING:
    from bench_assets.contracts.gate import GateDecision
    from bench_assets.stages.comparison import Assessed

GATE = "release_gate"


def comparison_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """Return the `comparison` of a benchmark, with its check."""

    @benchmark_asset(
        benchmark,
        "comparison",
        inputs=["summary"],
        partitions=candidates,
        kinds={"python"},
        description=(
            f"A candidate's run of {benchmark.spec.id} held against its baseline, question by question, and what the "
            "gate says of it: GO, NO-GO or INCONCLUSIVE. Also writes `comparison.json`, `gate.json` and `report.html` "
            "to the run's files, and rows to Postgres (`gates`, `transitions`)."
        ),
        check_specs=[_check_spec(benchmark)],
    )
    def comparison(
        context: dg.AssetExecutionContext, summary: dict[str, FinishedRun], workspace: dg.ResourceParam[Workspace]
    ) -> Iterator[dg.Output[PartitionStream] | dg.AssetCheckResult]:
        from bench_assets.stages.rows import store_gate

        assessed: list[Assessed] = []
        yield dg.Output(PartitionStream(_comparisons(context, summary, workspace, benchmark, assessed), context))
        yield check_result([one.decision for one in assessed])
        with as_failures():
            for one in assessed:
                store_gate(workspace, one.decision, one.transitions)

    return comparison


def _check_spec(benchmark: Benchmark) -> dg.AssetCheckSpec:
    return dg.AssetCheckSpec(
        name=GATE,
        asset=asset_key(benchmark, "comparison"),
        blocking=True,
        description="May the candidate take its baseline's place, by `gate` in the benchmark's spec?",
    )


def _comparisons(
    context: dg.AssetExecutionContext,
    summaries: dict[str, FinishedRun],
    workspace: Workspace,
    benchmark: Benchmark,
    assessed: "list[Assessed]",
) -> Outputs:
    from bench_assets.stages.comparison import assess, attach

    for candidate in context.partition_keys:
        made = assess(workspace, summaries[candidate].run_id, spec=benchmark.spec)
        attach(workspace, made)
        assessed.append(made)
        metadata = _metadata(made, folder=summaries[candidate].folder)
        yield PartitionOutput(candidate, made.assessment, metadata=metadata.copy)


def check_result(decisions: "list[GateDecision]") -> dg.AssetCheckResult:
    """Return the check of a run over some candidates: passed when all are GO, a warning when none is NO-GO."""
    from bench_assets.analysis.markdown import checks_table

    verdicts = {decision.verdict for decision in decisions}
    metadata: dict[str, Any] = {}
    for decision in decisions:
        prefix = f"{decision.candidate}: " if len(decisions) > 1 else ""
        metadata[f"{prefix}verdict"] = decision.verdict
        metadata[f"{prefix}baseline"] = decision.baseline or "none"
        metadata[f"{prefix}reasons"] = dg.MetadataValue.md(checks_table(decision.checks))
    told = [f"{decision.verdict}: {decision.candidate}. {_why(decision)}" for decision in decisions]
    return dg.AssetCheckResult(
        check_name=GATE,
        passed=verdicts <= {"GO"},
        severity=dg.AssetCheckSeverity.ERROR if "NO-GO" in verdicts else dg.AssetCheckSeverity.WARN,
        description="\n".join(told),
        metadata=metadata,
    )


def _why(decision: "GateDecision") -> str:
    """Return what stands in the way; for GO, that nothing does."""
    open_ones = [check.reason for check in decision.checks if check.status != "pass"]
    return " ".join(open_ones) or f"All {len(decision.checks)} conditions are kept."


def _metadata(made: "Assessed", *, folder: str) -> dict[str, Any]:
    from bench_assets.analysis.markdown import (
        checks_table,
        figures_table,
        groups_table,
        questions_table,
        transitions_table,
    )

    decision, comparison = made.decision, made.comparison
    shown: dict[str, Any] = {
        "verdict": decision.verdict,
        "reasons": dg.MetadataValue.md(checks_table(decision.checks)),
        "run_id": decision.run_id,
        "files": dg.MetadataValue.path(folder),
    }
    summary = made.candidate.summary
    if summary.accuracy is not None:
        shown["accuracy"] = round(summary.accuracy, 4)
    if comparison is None:
        return shown
    shown |= {
        "baseline": comparison.baseline.candidate,
        "comparable": comparison.comparable,
        "figures": dg.MetadataValue.md(figures_table(comparison)),
        "transitions": dg.MetadataValue.md(transitions_table(comparison)),
        "changed_questions": dg.MetadataValue.md(questions_table(comparison.transitions) or "none"),
        **{f"questions_{kind}": count for kind, count in comparison.counts.items() if kind in ("fixed", "broken")},
    }
    if groups := groups_table(comparison):
        shown["groups"] = dg.MetadataValue.md(groups)
    if comparison.effect is not None:
        effect = comparison.effect
        shown |= {"delta": round(effect.delta, 4), "compared_questions": effect.n}
        shown |= {f"delta_{end}": round(getattr(effect.interval, end), 4) for end in ("low", "high")}
        shown["p_value"] = round(effect.p_value if decision.p_value is None else decision.p_value, 6)
    return shown
