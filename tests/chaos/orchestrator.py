"""Goes on with a run until it is done, as `answers` does, in a process that starts fast enough to be killed often.

`python -m tests.chaos.orchestrator RUN_ID`, in the project's folder.
"""

import os
import sys
from pathlib import Path

from bench_assets.catalog.benchmarks import find_benchmark
from bench_assets.catalog.project import Project
from bench_assets.stages.answers import AnswerStage, ShardCounts
from bench_assets.stages.checkpoints import shard_names
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.records import record_key
from bench_assets.stages.reuse import read_plan
from bench_assets.stages.workspace import Workspace


def open_workspace() -> Workspace:
    """Open the project of the current folder."""
    project = Project.find(os.environ, cwd=Path.cwd())
    quiet = LogReporter(lambda _: None, detail=lambda _: None)
    return Workspace(project=project, environ=dict(os.environ), reporter=quiet)


def go_on(run_id: str) -> None:
    """Ask what is open, shard by shard, and store each shard's answers."""
    workspace = open_workspace()
    plan = read_plan(workspace, run_id)
    benchmark = find_benchmark(workspace.project.benchmarks, plan.benchmark)
    with AnswerStage(workspace, plan, benchmark) as stage:
        for shard in shard_names(plan):
            key = record_key("chaos/answers", partition=f"{plan.candidate}|{shard}", suffix=".jsonl")
            workspace.store.write(key, (record.to_line() for record in stage.shard(shard, ShardCounts())))
    sys.stdout.write("done\n")


if __name__ == "__main__":
    go_on(sys.argv[1])
