"""`python -m perf [ITEM…]`: measure, show tables, keep the results as JSON.

Exit code 0 when everything was measured, whether the goals are met or not; 1 when a measurement failed; 2 for a wrong
command. A missed goal is a finding, and this is no test.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from perf.document import write_document
from perf.harness import Setting, Table, machine, shown

ITEMS = {
    "startup": "start-up of the commands, and of the definitions",
    "questions": "what a question costs beside the bare limit",
    "judging": "an LLM judge's use of its endpoint, and kept verdicts",
    "resume": "time until the first open question is asked",
    "memory": "peak memory by the number of questions",
    "environments": "building, reusing and sharing an environment",
    "storage": "rows into Postgres, requests to S3, what a shard costs Dagster",
    "scale": "the simulation of many pods, held against eight real processes",
    "whole_run": "a whole run beside Inspect AI and promptfoo",
}
"""Each is a module of this package with a function `measure(setting)` that yields tables."""

ROOT = Path(__file__).parent.parent


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m perf", description="Measures how fast bench-assets is.")
    known = "; ".join(f"{name}: {what}" for name, what in ITEMS.items())
    parser.add_argument("items", nargs="*", metavar="ITEM", help=f"{known}. Default: all.")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of timings a figure is the median of (default 5)")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works, and no figure to quote")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/performance.md and its JSON")
    parser.add_argument("--out", type=Path, default=ROOT / ".bench" / "perf", help="folder of the JSON results")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = [name for name in given.items if name not in ITEMS]
    if unknown or given.rounds < 1:
        parser.error(f"there is no item {', '.join(unknown)}" if unknown else "--rounds must be 1 or more")
    if given.child is not None:
        return _measure(given.items[0], rounds=given.rounds, quick=given.quick, result=given.child)
    failed = []
    for name in given.items or ITEMS:
        sys.stdout.write(f"\n{name}: {ITEMS[name]}\n\n")
        sys.stdout.flush()
        result = given.out.resolve() / f"{name}.json"
        result.parent.mkdir(parents=True, exist_ok=True)
        flags = ["--rounds", str(given.rounds), *(["--quick"] if given.quick else [])]
        # A process of its own, so that no measurement finds the imports, threads or memory of another.
        command = [sys.executable, "-m", "perf", name, *flags, "--child", str(result)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(name)
            continue
        outcome = json.loads(result.read_text(encoding="utf-8"))
        for table in outcome["tables"]:
            sys.stdout.write(Table.from_json(table).markdown() + "\n")
        if given.write and not given.quick:
            write_document(ROOT / "docs", name, outcome)
    if failed:
        sys.stderr.write(f"Not measured, see above: {', '.join(failed)}.\n")
    return int(bool(failed))


def _measure(name: str, *, rounds: int, quick: bool, result: Path) -> int:
    module = import_module(f"perf.{name}")
    started = datetime.now(UTC)
    outcome: dict[str, Any] = {
        "item": name,
        "command": f"make bench ITEM={name}" + (f" ROUNDS={rounds}" if rounds != 5 else ""),
        "rounds": rounds,
        "quick": quick,
        "date": f"{started:%Y-%m-%d}",
        "commit": _commit(),
        "machine": machine(),
    }
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=result.parent))  # not in /tmp, which may be memory
    try:
        setting = Setting(folder=folder, rounds=rounds, quick=quick)
        outcome["tables"] = [table.to_json() for table in module.measure(setting)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    outcome["took_sec"] = round((datetime.now(UTC) - started).total_seconds())
    result.write_text(json.dumps(outcome, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stderr.write(f"  took {shown(outcome['took_sec'])} s; results in {result}\n\n")
    return 0


def _commit() -> str | None:
    """Return the commit that is measured, with a `+` where files differ from it; None outside a repository."""
    command = ["git", "describe", "--always", "--abbrev=10", "--dirty=+"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


if __name__ == "__main__":
    sys.exit(main())
