"""A whole evaluation in this process, as a person's project would have it: what several items measure something of."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dagster as dg

from bench_assets.catalog.benchmarks import list_benchmarks
from bench_assets.catalog.project import Project
from bench_assets.definitions import build_definitions
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.s3 import default_client
from tests.endtoend.project import UserProject, quiz, write_package

CANDIDATE = "kg@local"

AGENT = """\
import asyncio
import os

PAUSE = float(os.environ.get("PAUSE", "0"))

class Agent:
    async def run(self, question):
        if PAUSE:
            await asyncio.sleep(PAUSE)
        return question.upper()

def make_agent():
    return Agent()
"""
"""Answers in capitals, after PAUSE seconds."""

QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
"""Nothing on the terminal but errors; the event log gets all the same."""

FIRST = ("agent_environment", "plan")
LAST = ("summary", "result_rows", "comparison", "leaderboard")


class Requests:
    """Counts what boto3 sends, by the stage that is under way."""

    def __init__(self) -> None:
        self.stage = "-"
        self.counts: Counter[tuple[str, str]] = Counter()
        """Requests by stage and kind: PUT, GET, HEAD, LIST or DELETE. A repeated one counts again."""
        self.sent: Counter[str] = Counter()
        """Bytes of bodies by stage."""
        self.keys: Counter[tuple[str, str, str]] = Counter()
        """Requests by stage, kind and key."""

    def client(self) -> Any:
        """Return our own client for S3, counted."""
        client = default_client()
        client.meta.events.register("before-send.s3", self._note)
        return client

    def of(self, stage: str) -> Counter[str]:
        """Return a stage's requests by kind."""
        return Counter({kind: count for (one, kind), count in self.counts.items() if one == stage})

    def _note(self, request: Any, **_: Any) -> None:
        parts = urlsplit(request.url)
        kind = "LIST" if "list-type" in parse_qs(parts.query) else request.method
        self.counts[self.stage, kind] += 1
        self.keys[self.stage, kind, parts.path] += 1
        self.sent[self.stage] += int(request.headers.get("Content-Length", 0))


class Evaluation:
    """One candidate on the benchmark `quiz@1.0`, through Dagster."""

    def __init__(
        self,
        folder: Path,
        *,
        questions: int,
        shards: int,
        storage: str | None = None,
        settings: str = "",
        variables: Mapping[str, str] | None = None,
        agent: str = AGENT,
    ) -> None:
        """Write the project to `folder`.

        Args:
            folder: an empty one.
            questions: so many.
            shards: so many.
            storage: BENCH_STORAGE; None means a folder of the project.
            settings: further lines of benchmark.yaml.
            variables: further variables of the person's shell.
            agent: the agent's module.
        """
        self.shards = [f"{number:03d}" for number in range(shards)]
        (folder / "dagster_home").mkdir(parents=True)
        self.project = UserProject(folder=folder, cache=folder.parent / "cache")
        self.project.variables |= variables or {}
        if storage is not None:
            self.project.variables["BENCH_STORAGE"] = storage
        self.project.benchmark(quiz(questions))
        spec = folder / "benchmarks" / "quiz" / "1.0" / "benchmark.yaml"
        spec.write_text(
            f'name: quiz\nversion: "1.0"\njudge: {{type: exact_match}}\nretries: 0\nshards: {shards}\n{settings}',
            encoding="utf-8",
        )
        self.project.agents("agents:\n  kg: {source: ./agent, entry_point: agent, env: [PAUSE]}\n")
        write_package(folder / "agent", agent)
        self.requests = Requests()

    @contextmanager
    def opened(self, instance: dg.DagsterInstance, *, counted: bool = False) -> Iterator["Opened"]:
        """Load the definitions; the person's variables are those of this process as long as the block lasts.

        `counted` counts the requests to S3, with a workspace of ours, which logs nothing; else it is Dagster's own.
        """
        before = dict(os.environ)
        os.environ.update(self.project.environ)
        try:
            found = Project.find(self.project.environ, cwd=self.project.folder)
            workspace = Workspace(
                project=found,
                environ=self.project.environ,
                reporter=LogReporter(lambda _: None, detail=lambda _: None),
                s3_client=self.requests.client,
            )
            if CANDIDATE not in instance.get_dynamic_partitions("candidates"):
                instance.add_dynamic_partitions("candidates", [CANDIDATE])
            yield Opened(self, workspace, instance, counted=counted)
        finally:
            os.environ.clear()
            os.environ.update(before)


class Opened:
    """An evaluation whose definitions are loaded."""

    def __init__(
        self, evaluation: Evaluation, workspace: Workspace, instance: dg.DagsterInstance, *, counted: bool
    ) -> None:
        self.workspace = workspace
        self._evaluation = evaluation
        self._instance = instance
        benchmarks = list_benchmarks(workspace.project.benchmarks)[0]
        self._definitions = build_definitions(benchmarks, workspace=workspace if counted else None)

    def materialize(self, *names: str, first: str = CANDIDATE, last: str | None = None) -> dg.ExecuteInProcessResult:
        """Materialize assets in one Dagster run, for one partition or a range of them."""
        self._evaluation.requests.stage = ", ".join(names)
        keys = [
            dg.AssetKey(name) if name == "agent_environment" else dg.AssetKey(["quiz", "1.0", name]) for name in names
        ]
        job = self._definitions.get_repository_def().get_implicit_job_def_for_assets(keys)
        assert job is not None
        tags = {"dagster/partition": first}
        if last is not None and last != first:
            tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
        return job.execute_in_process(instance=self._instance, asset_selection=keys, tags=tags, run_config=QUIET)

    def materialize_shards(self, *names: str) -> dg.ExecuteInProcessResult:
        """Materialize assets in one Dagster run, for all shards."""
        shards = self._evaluation.shards
        return self.materialize(*names, first=f"{CANDIDATE}|{shards[0]}", last=f"{CANDIDATE}|{shards[-1]}")
