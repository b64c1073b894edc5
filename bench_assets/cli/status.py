"""`bench-assets status`: how far a run has come."""

import click


@click.command()
@click.argument("run_id", required=False)
def status(run_id: str | None) -> None:
    """Tell how far RUN_ID has come; without it, every run. Reads the journal, and disturbs nobody who works on it."""
    from bench_assets.cli.project import open_project
    from bench_assets.stages.checkpoints import known_runs, progress_of
    from bench_assets.stages.reuse import read_plan
    from bench_assets.storage.bundle import RunBundle

    workspace = open_project()
    for name in [run_id] if run_id else known_runs(workspace):
        plan = read_plan(workspace, name)
        progress = progress_of(workspace, plan)
        line = f"{name}  {plan.candidate} on {plan.benchmark}: {progress.status}"
        line += f", {progress.answered + progress.errors} of {progress.planned} executions settled"
        line += f", {progress.errors} of them with an error" if progress.errors else ""
        summary = RunBundle(workspace.store, name).summary()
        if progress.status == "finished" and summary is not None and summary.accuracy is not None:
            line += f", accuracy {summary.accuracy:.1%}"
        click.echo(line)
