"""A Dagster project with the shape of ours and nothing behind it: two benchmarks, empty bodies."""

import dagster as dg
from pydantic import Field

NAMES = ("first", "second")

candidates = dg.DynamicPartitionsDefinition(name="candidates")
grid = dg.MultiPartitionsDefinition(
    {"candidate": candidates, "shard": dg.StaticPartitionsDefinition([f"{number:03d}" for number in range(8)])}
)


class EnvironmentConfig(dg.Config):
    """As many settings as `agent_environment` has."""

    invalidate: bool = False
    worker_source: str | None = None


class PlanConfig(dg.Config):
    """As many settings as `plan` has."""

    limit: int | None = None
    sample: int | None = None
    seed: int | None = None
    repetitions: int | None = None
    timeout_sec: float | None = None
    worker_ready_timeout_sec: float | None = None
    parallelism: int | None = None
    concurrency: int | None = None
    retries: int | None = None
    retries_by_cause: dict[str, int] | None = None
    retry_backoff_sec: float | None = None
    min_start_interval_sec: float | None = None
    questions_per_worker: int | None = None
    checkpoint_dir: str | None = None
    checkpoint_flush_every: int | None = None
    resume: bool = False
    reuse_answers: bool = False
    description: str = ""
    env_overrides: dict[str, str] = Field(default={})
    run_id: str | None = None


class AnswersConfig(dg.Config):
    """As many settings as `answers` has."""

    only: str | None = None
    log_ipc: bool = False


class ScoresConfig(dg.Config):
    """As many settings as `scores` has."""

    verdict_cache: bool = True


@dg.asset(partitions_def=candidates, group_name="agents")
def agent_environment(config: EnvironmentConfig) -> None:
    """Do nothing."""


def of_benchmark(name: str) -> list[dg.AssetsDefinition]:
    """Return the seven assets of a benchmark."""

    def key(asset: str) -> dg.AssetKey:
        return dg.AssetKey([name, "1.0", asset])

    @dg.asset(key=key("plan"), deps=[agent_environment], partitions_def=candidates, group_name=name)
    def plan(config: PlanConfig) -> None: ...

    @dg.asset(key=key("answers"), deps=[key("plan")], partitions_def=grid, group_name=name)
    def answers(config: AnswersConfig) -> None: ...

    @dg.asset(key=key("scores"), deps=[key("plan"), key("answers")], partitions_def=grid, group_name=name)
    def scores(config: ScoresConfig) -> None: ...

    three = [key("plan"), key("answers"), key("scores")]

    @dg.asset(key=key("summary"), deps=three, partitions_def=candidates, group_name=name)
    def summary() -> None: ...

    @dg.asset(key=key("result_rows"), deps=[key("summary")], partitions_def=candidates, group_name=name)
    def result_rows() -> None: ...

    @dg.asset(
        key=key("comparison"),
        deps=[key("summary")],
        partitions_def=candidates,
        group_name=name,
        check_specs=[dg.AssetCheckSpec("release_gate", asset=key("comparison"), blocking=True)],
    )
    def comparison() -> tuple[None, None]:
        return None, None

    @dg.asset(key=key("leaderboard"), deps=[key("summary")], group_name=name)
    def leaderboard() -> None: ...

    return [plan, answers, scores, summary, result_rows, comparison, leaderboard]


@dg.sensor(target=dg.AssetSelection.assets(agent_environment))
def new_git_tags() -> None:
    """Do nothing."""


defs = dg.Definitions(
    assets=[agent_environment, *(asset for name in NAMES for asset in of_benchmark(name))],
    sensors=[new_git_tags],
    executor=dg.in_process_executor,
)
