"""`bench-assets gate`: may a candidate take its baseline's place? For a person, and for a CI job."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bench_assets.stages.comparison import Assessed

UNDECIDED = 2
"""The exit code of INCONCLUSIVE and of whatever keeps the gate from deciding: 1 is NO-GO and nothing else."""


@click.command()
@click.argument("candidate")
@click.option("--benchmark", help="`name@version`, where the candidate has runs on several.")
@click.option("--baseline", help="A candidate or run_id to hold it against, instead of what the policy says.")
@click.option("--markdown", type=click.Path(path_type=Path, dir_okay=False), help="Write a summary for a pull request.")
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def gate(candidate: str, benchmark: str | None, baseline: str | None, markdown: Path | None, as_json: bool) -> int:
    """Decide on CANDIDATE's newest run, or on the run with that run_id, by `gate` in the benchmark's spec.

    Decides by today's policy and today's accepted versions, and stores nothing. Exit codes: 0 GO, 1 NO-GO,
    2 INCONCLUSIVE or no decision.
    """
    from bench_assets.analysis.markdown import pull_request
    from bench_assets.cli.outcome import open_console, show_decision
    from bench_assets.errors import BenchError

    try:
        assessed = _assess(candidate, benchmark=benchmark, baseline=baseline)
    except BenchError as error:
        click.echo(f"error: {error}", err=True)
        return UNDECIDED
    decision = assessed.decision
    if markdown is not None:
        markdown.write_text(pull_request(decision, assessed.comparison), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(decision.to_json(), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        console = open_console()
        console.print(f"{decision.candidate} on {decision.benchmark}, run {decision.run_id}")
        show_decision(console, decision, all_checks=True)
    return decision.exit_code


def _assess(candidate: str, *, benchmark: str | None, baseline: str | None) -> "Assessed":
    from bench_assets.catalog.benchmarks import find_benchmark
    from bench_assets.cli.project import open_project
    from bench_assets.stages.comparison import assess
    from bench_assets.stages.finished import find_run, read_finished

    workspace = open_project()
    run_id = find_run(workspace, candidate, benchmark=benchmark)
    on = read_finished(workspace, run_id)[0].benchmark
    spec = find_benchmark(workspace.project.benchmarks, on).spec
    against = find_run(workspace, baseline, benchmark=on) if baseline else None
    return assess(workspace, run_id, spec=spec, against=against)
