"""`bench-assets compare`: two runs side by side."""

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bench_assets.contracts.comparison import Comparison, RunFigures, TransitionKind

SHOWN = 10
"""Ids of each kind that are listed; the report has them all."""


@click.command()
@click.argument("baseline")
@click.argument("candidate")
@click.option("--benchmark", help="`name@version`, where a candidate has runs on several.")
@click.option("--by", multiple=True, metavar="FIELD", help="Group by this field of `meta`; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def compare(baseline: str, candidate: str, benchmark: str | None, by: tuple[str, ...], as_json: bool) -> None:
    """Hold CANDIDATE against BASELINE, question by question. Each is a run_id, or a candidate's newest run.

    Only questions that are the same in both are compared. What else differs between the runs is named.
    """
    from bench_assets.analysis.comparison import compare as hold_together
    from bench_assets.cli.project import open_project
    from bench_assets.stages.finished import find_run, read_run

    workspace = open_project()
    before, after = (
        read_run(workspace, find_run(workspace, one, benchmark=benchmark)) for one in (baseline, candidate)
    )
    found = hold_together(before, after, fields=by or None)
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False, indent=2))
    else:
        _show(found)


def _show(found: "Comparison") -> None:
    from rich.table import Table

    from bench_assets.analysis.sentences import effect_sentence, percent, points, spread
    from bench_assets.cli.outcome import open_console

    console = open_console()
    console.print(f"{found.comparable.replace('_', ' ')} on {found.benchmark}")
    for difference in found.differences:
        if difference.weight != "intended":
            console.print(f"  {'blocks' if difference.weight == 'blocks' else 'note'}: {difference.message}")
    table = Table(title_justify="left")
    for column in ("", found.baseline.candidate, found.candidate.candidate):
        table.add_column(column, justify="right" if column else "left", overflow="fold")
    for name, *cells in _figures(found.baseline, found.candidate):
        table.add_row(name, *cells)
    console.print(table)
    if found.effect is not None:
        console.print(f"On the {found.effect.n} common questions: {effect_sentence(found.effect)}")
    for note in found.notes:
        console.print(f"- {note}")
    for group in found.groups:
        interval = spread(group.interval, signed=True)
        accuracies = f"{percent(group.baseline_accuracy)} → {percent(group.candidate_accuracy)}"
        console.print(
            f"{group.field} = {group.value} (n = {group.n}): {accuracies}, {points(group.delta)} ({interval})"
        )
    for kind, count in found.counts.items():
        if count:
            console.print(f"{kind.replace('_', ' ')}: {count}{_ids(found, kind)}")


def _figures(*sides: "RunFigures") -> list[tuple[str, ...]]:
    from bench_assets.analysis.sentences import percent, spread

    rows = [
        ("run", *(side.run_id for side in sides)),
        ("accuracy of all", *(percent(side.accuracy) for side in sides)),
        ("95 % interval", *(spread(side.wilson) for side in sides)),
        ("accuracy of those with a verdict", *(percent(side.of_judged) for side in sides)),
        ("questions × repetitions", *(f"{side.questions} × {side.repetitions}" for side in sides)),
        ("without a verdict", *(str(side.errors) for side in sides)),
    ]
    for k in range(2, min(side.repetitions for side in sides) + 1):
        rows.append((f"right in at least one of {k}", *(percent(side.pass_at.get(k)) for side in sides)))
        rows.append((f"right in all of {k}", *(percent(side.pass_all.get(k)) for side in sides)))
    latencies = (f"{side.latency_ms.p50:,.0f}" if side.latency_ms else "-" for side in sides)
    return [*rows, ("latency p50, ms", *latencies)]


def _ids(found: "Comparison", kind: "TransitionKind") -> str:
    if kind in ("still_right", "still_wrong"):
        return ""
    ids = [one.id for one in found.transitions if one.kind == kind]
    more = f" and {found.counts[kind] - SHOWN} more" if found.counts[kind] > SHOWN else ""
    return f" ({', '.join(ids[:SHOWN])}{more})"
