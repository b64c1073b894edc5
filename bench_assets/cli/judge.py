"""`bench-assets judge …`: a judge held against people, or against another judge."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bench_assets.contracts.judging import Calibration
    from bench_assets.judging.settings import EffectiveJudge
    from bench_assets.stages.workspace import Workspace

NO_CACHE = click.option("--no-verdict-cache", is_flag=True, help="Judge every answer anew, also unchanged ones.")


@click.group()
def judge() -> None:
    """Hold a judge against people, score a run's answers again, see which labels change."""


@judge.command()
@click.argument("rows", type=click.Path(path_type=Path))
@click.option("--benchmark", required=True, help="`name@version` whose judge is calibrated.")
def calibrate(rows: Path, benchmark: str) -> int:
    """Have the judge label ROWS that people have labelled, and keep how well they agree.

    ROWS is a .jsonl, .csv or .tsv with question, golden, answer and label (correct, incorrect, not_attempted).
    """
    from bench_assets.stages.calibration import calibrate_judge

    workspace, in_force = _judge_of(benchmark)
    found = calibrate_judge(workspace, in_force, path=rows)
    _show(found)
    return 0 if found.rows else 1


@judge.command()
@click.argument("run_id")
@NO_CACHE
def rescore(run_id: str, no_verdict_cache: bool) -> int:
    """Score the kept answers of RUN_ID with the judge that its benchmark has now.

    BENCH_LLM_JUDGE_KWARGS chooses another one for the moment. The run's own scores stay as they are.
    """
    from bench_assets.cli.project import open_project
    from bench_assets.stages.rescoring import rescore as score_again
    from bench_assets.stages.rescoring import run_of

    benchmark = run_of(open_project(), run_id).benchmark
    workspace, in_force = _judge_of(benchmark)
    done = score_again(workspace, in_force, run_id=run_id, verdict_cache=not no_verdict_cache)
    summary = done.summary
    if done.how == "unchanged":
        click.echo(
            f"this judge ({done.scoring.judge.digest}) has scored the run before; its scores are kept as they are"
        )
    click.echo(f"{summary.correct} of {summary.total} correct by {done.scoring.judge.digest}")
    for note in done.scoring.notes:
        click.echo(note)
    click.echo(f"files: {done.folder}")
    return 0 if summary.coverage else 1


@judge.command()
@click.argument("run_id")
def scorings(run_id: str) -> int:
    """List the judges that have scored RUN_ID."""
    from bench_assets.cli.project import open_project
    from bench_assets.stages.rescoring import run_of
    from bench_assets.stages.rescoring import scorings as further

    workspace = open_project()
    own = run_of(workspace, run_id).judge_identity
    if own is not None:
        click.echo(f"{own.digest}  {own.method}  {own.model or ''}  (the run's own)")
    for scoring in further(workspace, run_id):
        identity = scoring.judge
        state = "" if scoring.complete else "  (incomplete)"
        click.echo(f"{identity.digest}  {identity.method}  {identity.model or ''}  {scoring.created_at}{state}")
    return 0


@judge.command()
@click.argument("run_id")
@click.option("--before", default="own", show_default=True, help="`own`, or the beginning of a judge's digest.")
@click.option("--after", help="The same; without it the newest further scoring.")
def changes(run_id: str, before: str, after: str | None) -> int:
    """List which labels of RUN_ID two judges see differently."""
    from bench_assets.cli.project import open_project
    from bench_assets.stages.rescoring import changes as label_changes

    found = label_changes(open_project(), run_id, before=before, after=after)
    for change in found:
        name = change.id if change.repetition == 1 else f"{change.id} (repetition {change.repetition})"
        click.echo(f"{name}: {change.before or 'no verdict'} → {change.after or 'no verdict'}")
        for which, reason in (("before", change.before_reason), ("after", change.after_reason)):
            click.echo(f"  {which}: {' '.join(reason.split())[:200]}")
    click.echo(f"{len(found)} labels changed")
    return 0


def _judge_of(benchmark: str) -> "tuple[Workspace, EffectiveJudge]":
    from bench_assets.catalog.benchmarks import find_benchmark
    from bench_assets.cli.project import open_project
    from bench_assets.judging.settings import effective_judge

    workspace = open_project()
    spec = find_benchmark(workspace.project.benchmarks, benchmark).spec
    return workspace, effective_judge(spec.judge, environ=workspace.environ, folder=workspace.project.folder)


def _show(found: "Calibration") -> None:
    from rich.console import Console
    from rich.table import Table

    from bench_assets.contracts.outcome import LABELS

    console = Console(soft_wrap=True, highlight=False)
    table = Table(title=f"{found.judge.model or found.judge.method} against people", title_justify="left")
    table.add_column("people say")
    for label in LABELS:
        table.add_column(f"judge: {label}", justify="right")
    for human in LABELS:
        table.add_row(human, *(str(found.confusion[human][said]) for said in LABELS))
    table.add_section()
    table.add_row("precision", *(_share(found.labels[label].precision) for label in LABELS))
    table.add_row("recall", *(_share(found.labels[label].recall) for label in LABELS))
    console.print(table)
    spread = f"  (95 % between {found.interval.low:.3f} and {found.interval.high:.3f})" if found.interval else ""
    kappa = "-" if found.kappa is None else f"{found.kappa:.3f}"
    console.print(f"accuracy {_share(found.accuracy)} of {found.rows} rows, Cohen's kappa {kappa}{spread}")
    if found.failed:
        told = ", ".join(f"{code} {count}" for code, count in found.failed.items())
        console.print(f"without a verdict, and not counted: {told}", markup=False)
    if found.flagged:
        console.print(f"{found.flagged} reasons contradict their label")
    console.print(f"calibration of judge {found.judge.digest}")


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
