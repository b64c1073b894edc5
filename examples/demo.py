"""`make demo`: two versions of the example agent on one benchmark, side by side.

Makes the agent's repository, runs `bench-assets run` for its two tags, reads the result back from Postgres, and asks
the gate whether the second version may take the first one's place.
"""

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench_assets.catalog.project import Project
from bench_assets.storage.postgres.database import Database

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
BENCHMARK = "word_arithmetic@1.0"
CANDIDATES = ("abacus@v1.0.0", "abacus@v1.1.0")


def main() -> int:
    """Run the demo. Returns the exit code."""
    repository = PROJECT / ".bench" / "demo" / "abacus"
    subprocess.run([sys.executable, str(HERE / "abacus" / "make_repository.py"), str(repository)], check=True)
    for candidate in CANDIDATES:
        print(f"\n$ bench-assets run --benchmark {BENCHMARK} --agent {candidate}", flush=True)
        command = [sys.executable, "-m", "bench_assets", "run", "--benchmark", BENCHMARK, "--agent", candidate]
        code = subprocess.run(command, cwd=PROJECT, check=False).returncode
        if code:
            return code
    show_side_by_side()
    return ask_the_gate()


def show_side_by_side() -> None:
    """Print each candidate's newest run, as Postgres has it."""
    project = Project.find(os.environ, cwd=PROJECT)
    table = Table(title=f"\n{BENCHMARK}, from Postgres", title_justify="left")
    for column in ("candidate", "accuracy", "correct", "of", "run"):
        table.add_column(column, overflow="fold")
    with Database.open(project.postgres_url, embedded_root=project.local_storage / "postgres") as database:
        newest = {row.candidate: row for row in database.leaderboard(BENCHMARK)}
    folders = []
    for candidate in CANDIDATES:
        row = newest[candidate]
        table.add_row(candidate, f"{row.accuracy:.1%}", str(row.correct), str(row.total), row.run_id)
        folders.append(f"{project.storage.rstrip('/')}/runs/{row.run_id}")
    console = Console(soft_wrap=True)
    console.print(table)
    for candidate, folder in zip(CANDIDATES, folders, strict=True):
        console.print(f"files of {candidate}: {folder}", highlight=False)


def ask_the_gate() -> int:
    """Print the verdict on the newer version. Returns the exit code of `bench-assets gate`."""
    print(f"\n$ bench-assets gate {CANDIDATES[-1]} --benchmark {BENCHMARK}", flush=True)
    command = [sys.executable, "-m", "bench_assets", "gate", CANDIDATES[-1], "--benchmark", BENCHMARK]
    code = subprocess.run(command, cwd=PROJECT, check=False).returncode
    print("\nSee it in Dagster's UI: make ui")
    return code


if __name__ == "__main__":
    sys.exit(main())
