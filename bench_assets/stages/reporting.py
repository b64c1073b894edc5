"""Pages and figures of runs that a person asks for. Nothing is stored."""

from collections.abc import Sequence
from itertools import islice

from bench_assets.analysis.report.page import render_report
from bench_assets.analysis.report.unfinished import MOST, render_unfinished
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.standings import Entry, history
from bench_assets.catalog.benchmarks import find_benchmark
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.leaderboard import Standing
from bench_assets.errors import InvalidBenchmark, InvalidInput
from bench_assets.stages.checkpoints import progress_of, settled_answers
from bench_assets.stages.comparison import Assessed, assess
from bench_assets.stages.finished import read_run
from bench_assets.stages.provenance import run_record
from bench_assets.stages.reuse import read_plan
from bench_assets.stages.standings import history_of
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle


def page_of(workspace: Workspace, run_ids: Sequence[str]) -> str:
    """Return the report of the last of some runs, held against the first; the others are in its history.

    A run by itself is held against the baseline that its gate chooses, or shown alone where its benchmark is gone. One
    that is not finished gets a page that says so. Raises InvalidInput for an unfinished one among several.
    """
    last = run_ids[-1]
    if len(run_ids) == 1 and not is_finished(workspace, last):
        return unfinished_page(workspace, last)
    runs = [read_run(workspace, run_id) for run_id in dict.fromkeys(run_ids)]
    standings = _history(workspace, runs)
    try:
        spec = find_benchmark(workspace.project.benchmarks, runs[-1].run.benchmark).spec
    except InvalidBenchmark:
        if len(runs) > 1:
            raise
        return render_report(runs[-1], history=standings)
    against = run_ids[0] if len(runs) > 1 else None
    return _page(assess(workspace, last, spec=spec, against=against), standings)


def _page(assessed: Assessed, standings: Sequence[Standing]) -> str:
    return render_report(
        assessed.candidate,
        baseline=assessed.baseline,
        comparison=assessed.comparison,
        decision=assessed.decision,
        history=standings,
    )


def _history(workspace: Workspace, runs: Sequence[ObservedRun]) -> Sequence[Standing]:
    if len(runs) <= 2:
        return history_of(workspace, runs[-1].run.benchmark)
    return history(Entry(one.run, one.summary) for one in runs)


def is_finished(workspace: Workspace, run_id: str) -> bool:
    """Return whether a run has its result. Raises InvalidInput for one that nobody has planned."""
    run = RunBundle(workspace.store, run_id).run()
    if run is None:
        read_plan(workspace, run_id)
        return False
    return run.status == "finished"


def unfinished_page(workspace: Workspace, run_id: str) -> str:
    """Return the page of a run that has no result yet, from its journal."""
    plan = read_plan(workspace, run_id)
    progress = progress_of(workspace, plan)
    run = RunBundle(workspace.store, run_id).run() or run_record(
        workspace, plan, status=progress.status, describe=None, judge_identity=None, dagster_run_ids=[]
    )
    answers: list[AnswerRecord] = []
    try:
        benchmark = find_benchmark(workspace.project.benchmarks, plan.benchmark)
        answers = list(islice(settled_answers(workspace, plan, benchmark), MOST + 1))
    except InvalidInput:  # the benchmark is gone or has changed: the counts are still true
        pass
    return render_unfinished(
        run,
        settled=progress.answered + progress.errors,
        planned=progress.planned,
        errors=progress.errors,
        answers=answers,
    )
