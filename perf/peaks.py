"""`python -m perf.peaks RESULT ARGUMENT…`: a run of `bench-assets`, and its greatest memory in each of its parts.

Memory is what Linux calls VmHWM, the most that was resident since the last look; a look makes it begin anew.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")

PARTS: dict[tuple[str, str], str] = {
    ("bench_assets.stages.plan", "plan_run"): "plan",
    ("bench_assets.stages.summary", "finish_run"): "summary and bundle",
    ("bench_assets.stages.comparison", "assess"): "comparison",
    ("bench_assets.stages.comparison", "attach"): "report",
    ("bench_assets.stages.rows", "store_gate"): "rows into Postgres",
    ("bench_assets.stages.rows", "store_rows"): "rows, a second look",
    ("bench_assets.stages.standings", "board"): "leaderboard",
}
"""Functions after which a part ends. `answers` and `scores` end when they are stored; what lies between is the rest."""

REST = "Dagster and the rest"


class Looks:
    """What was seen at the end of each part."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, float]] = {}
        self._work = 0.0
        self._wall = time.perf_counter()

    def look(self, part: str) -> None:
        """Say that a part ends here; one that ends several times is added up."""
        work, wall = time.process_time(), time.perf_counter()
        seen = self.parts.setdefault(part, {"peak_mb": 0.0, "work_sec": 0.0, "wall_sec": 0.0})
        seen["peak_mb"] = max(seen["peak_mb"], resident("VmHWM"))
        seen["work_sec"] += work - self._work
        seen["wall_sec"] += wall - self._wall
        self._work, self._wall = work, wall
        CLEAR.write_text("5", encoding="ascii")

    def around(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """Return a function that does the same, and is a part of its own."""

        def watched(*arguments: Any, **options: Any) -> Any:
            self.look(REST)
            try:
                return function(*arguments, **options)
            finally:
                self.look(part)

        return watched


def resident(name: str) -> float:
    """Return `VmHWM` or `VmRSS` of this process in MB."""
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1000 * 1.024 for line in lines if line.startswith(f"{name}:"))


def main() -> int:
    """Run the command and write what was seen."""
    result, arguments = Path(sys.argv[1]), sys.argv[2:]
    from bench_assets.cli.main import execute
    from bench_assets.io_managers.records import RecordIOManager

    looks = Looks()
    for (module, name), part in PARTS.items():
        found = import_module(module)
        setattr(found, name, looks.around(getattr(found, name), part))
    store = RecordIOManager.handle_output

    def handle_output(self: RecordIOManager, context: Any, obj: Any) -> None:
        asset = context.asset_key.path[-1]
        looks.look(REST)
        store(self, context, obj)
        looks.look(asset if asset in ("answers", "scores") else REST)

    RecordIOManager.handle_output = handle_output  # type: ignore[method-assign]
    code = execute(arguments)
    looks.look(REST)
    result.write_text(json.dumps(looks.parts), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
