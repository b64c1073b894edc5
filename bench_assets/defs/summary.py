"""`summary`: the figures of a run, and its finished files."""

from typing import Any

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.plan import Plan
from bench_assets.contracts.run import FinishedRun, Summary
from bench_assets.defs.partitions import benchmark_asset, candidates, split
from bench_assets.io_managers.records import Outputs, PartitionOutput, PartitionStream
from bench_assets.stages.records import AnswerFile, ScoreFile
from bench_assets.stages.workspace import Workspace

Answers = dict[str, AnswerFile]
Scores = dict[str, ScoreFile]


def summary_asset(benchmark: Benchmark) -> dg.AssetsDefinition:
    """Return the `summary` of a benchmark."""

    @benchmark_asset(
        benchmark,
        "summary",
        inputs=["plan", "answers", "scores"],
        partitions=candidates,
        kinds={"python"},
        description=(
            f"Accuracy and its companions for a candidate on {benchmark.spec.id}, over all planned questions: an error "
            "stays in the denominator. Also writes the run's files, complete, to `runs/<run_id>/`."
        ),
    )
    def summary(
        context: dg.AssetExecutionContext,
        plan: dict[str, Plan],
        answers: Answers,
        scores: Scores,
        workspace: dg.ResourceParam[Workspace],
    ) -> PartitionStream:
        return PartitionStream(_summaries(context, plan, answers, scores, workspace), context)

    return summary


def _summaries(
    context: dg.AssetExecutionContext, plans: dict[str, Plan], answers: Answers, scores: Scores, workspace: Workspace
) -> Outputs:
    from bench_assets.stages.summary import finish_run

    for candidate in context.partition_keys:
        finished = finish_run(
            workspace,
            plans[candidate],
            answers={key: file for key, file in answers.items() if split(key)[0] == candidate},
            scores={key: file for key, file in scores.items() if split(key)[0] == candidate},
            dagster_run_id=context.run.run_id,
        )
        metadata = _metadata(finished)
        yield PartitionOutput(candidate, finished, metadata=metadata.copy)


def _metadata(finished: FinishedRun) -> dict[str, Any]:
    summary = finished.summary
    figures = {name: getattr(summary, name) for name in ("precision", "recall", "f1", "coverage", "stderr")}
    shown = {name: round(value, 4) for name, value in figures.items() if value is not None}
    if summary.interval is not None:
        shown = {"interval_95": f"{summary.interval.low:.1%} – {summary.interval.high:.1%}", **shown}
    if summary.accuracy is not None:
        shown = {"accuracy": round(summary.accuracy, 4), **shown}
    return {
        **shown,
        "correct": summary.correct,
        "attempted": summary.attempted,
        "total": summary.total,
        "errors": summary.errors,
        "judged": summary.judged,
        "partial": summary.partial,
        "outcomes": _outcomes(summary),
        **_judging(summary),
        "run_id": finished.run_id,
        "files": dg.MetadataValue.path(finished.folder),
    }


def _judging(summary: Summary) -> dict[str, Any]:
    """What the verdicts of a model cost, and how far to believe them; nothing for matchers."""
    judging = summary.judging
    if judging is None or not {"llm_judge", "llm_panel"} & judging.methods.keys():
        return {}
    found: dict[str, Any] = {"judge_requests": judging.calls, "kept_verdicts": judging.cached}
    if judging.cost is not None:
        found["judge_cost"] = judging.cost
    if judging.alpha is not None:
        found["votes_alpha"] = round(judging.alpha, 4)
    kappa = judging.calibration.kappa if judging.calibration else None
    found["judge_kappa"] = "never calibrated" if kappa is None else round(kappa, 4)
    return found


def _outcomes(summary: Summary) -> dg.MarkdownMetadataValue:
    rows = "\n".join(f"| {outcome} | {count} |" for outcome, count in summary.outcomes.items())
    return dg.MetadataValue.md(f"| outcome | executions |\n| --- | --- |\n{rows}")
