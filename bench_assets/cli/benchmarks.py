"""`bench-assets benchmarks` and `bench-assets validate`. Neither needs Dagster."""

import os
from pathlib import Path

import click

from bench_assets.catalog.benchmarks import Benchmark, list_benchmarks, load_benchmark
from bench_assets.catalog.project import Project
from bench_assets.errors import InvalidBenchmark
from bench_assets.stages.benchmark import check_benchmark


@click.command()
def benchmarks() -> int:
    """List the benchmarks of this project."""
    project = Project.find(os.environ, cwd=Path.cwd())
    good, faults = list_benchmarks(project.benchmarks)
    rows = [(benchmark.spec.id, _judge(benchmark), benchmark.spec.description) for benchmark in good]
    for name, judge, description in rows:
        click.echo(f"{name:<28} {judge:<24} {description}")
    if not rows and not faults:
        click.echo(f"There are no benchmarks in {project.benchmarks}.", err=True)
    for fault in faults:
        click.echo(f"error: {fault}", err=True)
    return 2 if faults else 0


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
def validate(path: Path) -> int:
    """Check the benchmark in PATH, a folder or a spec's file: the spec and every row of the dataset."""
    if not path.exists():
        raise InvalidBenchmark("there is no such file or folder", path=path)
    benchmark = load_benchmark(path)
    facts = check_benchmark(benchmark)
    click.echo(f"{benchmark.spec.id} is valid: {facts.rows} questions, scored by {_judge(benchmark)}.")
    return 0


def _judge(benchmark: Benchmark) -> str:
    judge = benchmark.spec.judge
    return judge.type if judge.is_matcher else f"llm ({judge.provider}: {judge.model})"
