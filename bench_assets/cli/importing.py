"""`bench-assets import`: a table becomes a dataset."""

from pathlib import Path

import click

from bench_assets.catalog.importing import import_rows
from bench_assets.errors import InvalidBenchmark


@click.command("import")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--question", required=True, help="Column or key of the question.")
@click.option("--golden", required=True, help="Column or key of the reference answer.")
@click.option("--id", "identity", help="Column or key of the id; default: made from the question's text.")
@click.option("--meta", multiple=True, help="Column or key that goes into `meta`; repeatable.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("dataset.jsonl"), show_default=True)
def import_(table: Path, question: str, golden: str, identity: str | None, meta: tuple[str, ...], output: Path) -> None:
    """Turn TABLE (.csv, .tsv, .json, .jsonl, also .gz) into a dataset, keeping every text as it stands."""
    if output.exists():
        raise InvalidBenchmark("exists already; choose another --output, or remove it", path=output)
    lines = list(import_rows(table, question=question, golden=golden, identity=identity, meta=meta))
    output.write_bytes(b"".join(lines))
    click.echo(f"{len(lines)} rows in {output}")
