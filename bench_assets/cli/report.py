"""`bench-assets report`: a run, or some, in one file that opens anywhere."""

from pathlib import Path

import click


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--benchmark", help="`name@version`, where a candidate has runs on several.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: report-<run_id>.html here.")
@click.option("--open", "open_it", is_flag=True, help="Open it in the browser.")
def report(runs: tuple[str, ...], benchmark: str | None, output: Path | None, open_it: bool) -> None:
    """Write the report of RUN: a run_id, or a candidate's newest run.

    Of several, the last is held against the first, and the others are shown beside them. A single one is held against
    the baseline that its benchmark's gate chooses. A run that is not finished gets a page that says how far it came.
    """
    from bench_assets.cli.project import open_project
    from bench_assets.stages.finished import is_candidate, newest_run_of
    from bench_assets.stages.reporting import page_of

    workspace = open_project()
    run_ids = [newest_run_of(workspace, one, benchmark=benchmark) if is_candidate(one) else one for one in runs]
    page = page_of(workspace, run_ids)
    path = output or Path(f"report-{run_ids[-1]}.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    click.echo(str(path))
    if open_it:
        click.launch(path.absolute().as_uri())
