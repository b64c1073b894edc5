"""`python -m perf.sampling RESULT ARGUMENT…`: a run of `bench-assets`, and which of its parts each moment belonged to.

A thread looks at the main thread's stack every two milliseconds. A moment belongs to the first part in `PARTS` that has
a frame anywhere on the stack, and its length is the time since the look before.
"""

import json
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType

PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "importing modules": (("importlib._bootstrap", "_find_and_load"),),
    "Dagster: opening its instance": (("bench_assets/cli/instance", "open_instance"),),
    "Dagster: its event log and run storage": (("dagster/_core/storage/", ""), ("dagster/_core/instance/", "")),
    "preparing: the plan, the environment": (
        ("bench_assets/stages/plan", ""),
        ("bench_assets/stages/environment", ""),
        ("bench_assets/stages/benchmark", ""),
    ),
    "asking: workers, journal": (("bench_assets/execution/", ""),),
    "judging": (("bench_assets/judging/", ""), ("bench_assets/stages/scores", "")),
    "summary": (("bench_assets/stages/summary", ""),),
    "rows into Postgres, its start and end": (("bench_assets/stages/rows", ""), ("bench_assets/storage/postgres", "")),
    "comparison, report, leaderboard": (("bench_assets/defs/comparison", ""), ("bench_assets/defs/leaderboard", "")),
    "writing and reading answers and scores": (
        ("bench_assets/stages/answers", ""),
        ("bench_assets/storage/", ""),
        ("bench_assets/io_managers/", ""),
        ("bench_assets/stages/checkpoints", ""),
    ),
    "Dagster: the rest": (("dagster/", ""),),
}
"""Each part's frames: a piece of the file's name, and a function's name or nothing for any."""

REST = "the rest"


def part_of(frame: FrameType | None) -> str:
    """Return the part that a stack belongs to."""
    stack = []
    while frame is not None:
        stack.append((frame.f_code.co_filename, frame.f_code.co_name))
        frame = frame.f_back
    for part, marks in PARTS.items():
        if any(piece in file and (not name or name == function) for file, function in stack for piece, name in marks):
            return part
    return REST


def main() -> int:
    """Run the command and write how many seconds each part took."""
    result, arguments = Path(sys.argv[1]), sys.argv[2:]
    seconds: defaultdict[str, float] = defaultdict(float)
    main_thread, over = threading.main_thread().ident, threading.Event()

    def look() -> None:
        last = time.perf_counter()
        while not over.wait(0.002):
            part = part_of(sys._current_frames().get(main_thread or 0))
            now = time.perf_counter()
            seconds[part] += now - last
            last = now

    sys.setswitchinterval(0.0005)  # else looks would gather where the main thread waits for something
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    from bench_assets.cli.main import execute

    code = execute(arguments)
    over.set()
    looking.join()
    result.write_text(json.dumps(seconds), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
