"""`bench-assets history` and `bench-assets leaderboard`: all candidates of a benchmark. Neither needs Dagster."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bench_assets.contracts.leaderboard import Standing

BENCHMARK = click.option("--benchmark", help="`name@version`; may be left out where the project has one only.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.command()
@BENCHMARK
@click.option("--agent", help="Only this agent's versions.")
@AS_JSON
def history(benchmark: str | None, agent: str | None, as_json: bool) -> None:
    """Show each version's result, by agent and version: branches and commits by time, then releases."""
    from bench_assets.cli.project import open_project
    from bench_assets.stages.standings import history_of

    workspace = open_project()
    name = _one(benchmark)
    found = [one for one in history_of(workspace, name) if agent in (None, one.candidate.partition("@")[0])]
    if as_json:
        click.echo(json.dumps([one.to_json() for one in found], ensure_ascii=False, allow_nan=False, indent=2))
    elif not found:
        click.echo(f"No version has a finished run on {name} yet.")
    else:
        _show(f"{name}, by version", found)


@click.command()
@BENCHMARK
@AS_JSON
def leaderboard(benchmark: str | None, as_json: bool) -> None:
    """Rank the candidates of a benchmark, each against the accepted one. Planned ones without a result are named."""
    from bench_assets.catalog.benchmarks import find_benchmark
    from bench_assets.cli.project import open_project
    from bench_assets.stages.standings import board, planned_candidates

    workspace = open_project()
    name = _one(benchmark)
    policy = find_benchmark(workspace.project.benchmarks, name).spec.gate
    found = board(workspace, name, policy=policy, known=planned_candidates(workspace, name))
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False, indent=2))
        return
    against = f", differences against {found.baseline}" if found.baseline else ""
    _show(f"{name}{against}", found.standings)
    if found.missing:
        click.echo(f"without a finished run: {', '.join(found.missing)}")


def _one(benchmark: str | None) -> str:
    from bench_assets.cli.project import open_project
    from bench_assets.errors import InvalidInput
    from bench_assets.stages.finished import benchmark_names

    if benchmark is not None:
        return benchmark
    names = benchmark_names(open_project())
    if len(names) != 1:
        raise InvalidInput(
            f"Say which benchmark with --benchmark: {', '.join(f'`{name}`' for name in names) or 'none'}."
        )
    return names[0]


def _show(title: str, standings: "Sequence[Standing]") -> None:
    from rich.table import Table

    from bench_assets.analysis.sentences import p_text, percent, points, spread
    from bench_assets.cli.outcome import open_console

    table = Table(title=title, title_justify="left")
    for column in ("candidate", "gate", "accuracy (95 % interval)", "difference", "errors", "questions", "started"):
        table.add_column(column, overflow="fold", no_wrap=column == "candidate")
    for one in standings:
        known = one.p_value is not None and one.compared is not None
        p = f" ({p_text(one.p_value or 0.0, one.compared or 0)})" if known else ""
        asked = f"{one.questions} × {one.repetitions}" + ("" if one.same_questions else ", others than most")
        accuracy = f"{percent(one.accuracy)} ({spread(one.interval)})"
        started = (one.start_time or "-")[:16].replace("T", " ")
        cells = (accuracy, f"{points(one.delta)}{p}", str(one.errors), asked, started)
        table.add_row(one.candidate, one.verdict or "-", *cells)
    open_console().print(table)
