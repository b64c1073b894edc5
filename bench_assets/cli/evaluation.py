"""One evaluation in this process: three Dagster runs on the instance that the UI shows."""

import json
import logging
from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)

from bench_assets.catalog.benchmarks import Benchmark, find_benchmark
from bench_assets.cli.agents import NamedAgent, name_agent
from bench_assets.cli.instance import open_instance
from bench_assets.cli.last_stage import check_last_stage
from bench_assets.cli.outcome import Result, show
from bench_assets.cli.project import open_project
from bench_assets.cli.request import Request, absolute_place
from bench_assets.cli.standby import StandBy
from bench_assets.contracts.plan import Plan
from bench_assets.contracts.run import FinishedRun
from bench_assets.definitions import build_definitions
from bench_assets.defs.partitions import asset_key
from bench_assets.errors import BenchError, Interrupted
from bench_assets.judging.settings import effective_judge
from bench_assets.planning.settings import RunSettings
from bench_assets.resources.failures import BenchFailure
from bench_assets.stages.benchmark import check_benchmark
from bench_assets.stages.checkpoints import settled_answers
from bench_assets.stages.finished import assessment_of
from bench_assets.stages.plan import current_plan
from bench_assets.stages.records import record_key
from bench_assets.stages.summary import keep_unfinished
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle
from bench_assets.storage.postgres.database import Database

ENVIRONMENT = dg.AssetKey("agent_environment")

NEEDED = ("summary", "result_rows")
LAST = (*NEEDED, "comparison", "leaderboard")
"""The assets of the last stage. Without a `NEEDED` one there is no result; the others say what it means."""


def evaluate(request: Request) -> int:
    """Check everything that can be checked, then run. Returns the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("bench_assets").setLevel("DEBUG" if request.log_ipc else request.log_level.upper())
    workspace = open_project()
    benchmark = find_benchmark(workspace.project.benchmarks, request.benchmark)
    check_benchmark(benchmark)
    settings = request.settings()
    if not request.skip_judge:
        effective_judge(benchmark.spec.judge, environ=workspace.environ, folder=workspace.project.folder)
    if workspace.project.postgres_url and not request.skip_judge:
        # A database that cannot be reached is better found now than when the answers are paid for.
        Database.open(workspace.project.postgres_url, embedded_root=workspace.postgres_folder).close()
    named = name_agent(
        workspace.project,
        request.agent,
        entry_point=request.agent_entry_point,
        import_path=request.agent_import_path,
        extra_deps=request.agent_extra_dep,
        python=request.agent_python,
        env=request.agent_env,
    )
    _register(workspace, named)
    with open_instance(workspace.project) as instance:
        instance.add_dynamic_partitions("candidates", [named.candidate])
        evaluation = Evaluation(workspace, benchmark, named.candidate, instance=instance, log_level=request.log_level)
        result = evaluation.run(request, settings)
    _deliver(workspace, request, result)
    return show(result)


def _register(workspace: Workspace, named: NamedAgent) -> None:
    if named.agent is not None and named.public is not None:
        workspace.candidates.register(named.candidate, named.public)
        workspace.candidates.hold(named.candidate, named.agent)
    workspace.candidates.resolve(named.candidate)


def _deliver(workspace: Workspace, request: Request, result: Result) -> None:
    """Copy the bundle to where the person asked for it."""
    bundle = RunBundle(workspace.store, result.plan.run_id)
    for place in filter(None, (request.output_dir, request.upload_dir)):
        result.places.append(bundle.copy_to(workspace.open_place(absolute_place(str(place)))))


class Evaluation:
    """Materializes one candidate's assets on one benchmark, stage by stage."""

    def __init__(
        self,
        workspace: Workspace,
        benchmark: Benchmark,
        candidate: str,
        *,
        instance: dg.DagsterInstance,
        log_level: str,
    ) -> None:
        self._workspace = workspace
        self._benchmark = benchmark
        self._candidate = candidate
        self._instance = instance
        # A failed step logs its stack trace as an error; the person gets its sentence from us instead.
        self._log_level = log_level.upper() if log_level in ("debug", "info") else "CRITICAL"
        self._definitions = build_definitions([benchmark], workspace=workspace)
        self._run_id: str | None = None

    def run(self, request: Request, settings: RunSettings) -> Result:
        """Run the stages. Raises the error of the first that fails; what was finished is kept."""
        self._materialize(
            [ENVIRONMENT, self._key("plan")],
            {PARTITION_NAME_TAG: self._candidate},
            {
                ENVIRONMENT: {"invalidate": request.invalidate_agent_cache, "worker_source": request.worker_source},
                self._key("plan"): settings.model_dump(exclude_none=True),
            },
        )
        plan = self._plan()
        self._run_id = plan.run_id
        self._materialize_shards(["answers"] if request.skip_judge else ["answers", "scores"], request)
        if request.skip_judge:
            answers = settled_answers(self._workspace, plan, self._benchmark)
            keep_unfinished(self._workspace, plan, answers=answers, status="checkpoint")
            return Result(plan, self._workspace.store.url(f"runs/{plan.run_id}"))
        with StandBy(self._workspace):
            last = self._materialize(
                [self._key(name) for name in LAST], {PARTITION_NAME_TAG: self._candidate}, {}, raising=False
            )
        failed = list(check_last_stage(last, needed=NEEDED))
        finished = FinishedRun.from_json(self._stored("summary"), source="the summary")
        assessment = assessment_of(self._workspace, benchmark=plan.benchmark, candidate=self._candidate)
        decision = assessment.decision if assessment and assessment.run_id == plan.run_id else None
        return Result(plan, finished.folder, finished.summary, decision, failed)

    def _materialize_shards(self, names: list[str], request: Request) -> None:
        shards = self._benchmark.spec.shard_names
        self._materialize(
            [self._key(name) for name in names],
            {
                ASSET_PARTITION_RANGE_START_TAG: f"{self._candidate}|{shards[0]}",
                ASSET_PARTITION_RANGE_END_TAG: f"{self._candidate}|{shards[-1]}",
            },
            {
                self._key("answers"): {"log_ipc": request.log_ipc, "only": request.only},
                self._key("scores"): {"verdict_cache": not request.no_verdict_cache},
            },
        )

    def _materialize(
        self,
        keys: list[dg.AssetKey],
        tags: Mapping[str, str],
        config: Mapping[dg.AssetKey, Mapping[str, Any]],
        *,
        raising: bool = True,
    ) -> dg.ExecuteInProcessResult:
        job = self._definitions.get_repository_def().get_implicit_job_def_for_assets(keys)
        if job is None:
            raise AssertionError(f"{keys} share no partitions")
        ops = {
            self._definitions.get_assets_def(key).node_def.name: {"config": dict(values)}
            for key, values in config.items()
            if key in keys
        }
        loggers = {"console": {"config": {"log_level": self._log_level}}}
        try:
            return job.execute_in_process(
                run_config={"ops": ops, "loggers": loggers},
                instance=self._instance,
                asset_selection=keys,
                raise_on_error=raising,
                tags={**tags, "bench/candidate": self._candidate, "bench/benchmark": self._benchmark.spec.id},
            )
        except BenchFailure as failure:
            raise failure.error from None
        except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt) as stop:
            raise Interrupted(self._how_to_go_on()) from stop
        except dg.Failure as failure:
            raise BenchError(failure.description or "a step failed") from failure

    def _how_to_go_on(self) -> str:
        if self._run_id is None:
            return "interrupted before anything was asked"
        return (
            f"interrupted: run {self._run_id} is not finished. What was answered is kept; the same command with "
            "--resume goes on from there."
        )

    def _key(self, name: str) -> dg.AssetKey:
        return asset_key(self._benchmark, name)

    def _plan(self) -> Plan:
        plan = current_plan(self._workspace, benchmark=self._benchmark, candidate=self._candidate)
        if plan is None:
            raise AssertionError("the plan was materialized a moment ago")
        return plan

    def _folder(self, name: str) -> str:
        return f"{self._benchmark.spec.name}/{self._benchmark.spec.version}/{name}"

    def _stored(self, name: str) -> Any:
        key = record_key(self._folder(name), partition=self._candidate, suffix=".json")
        return json.loads(self._workspace.store.read(key))
