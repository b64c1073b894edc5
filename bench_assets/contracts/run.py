"""`summary.json` and `run.json`."""

from pydantic import Field

from bench_assets.contracts.base import JsonValue, Record, VersionedRecord
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.contracts.judging import JudgingFigures
from bench_assets.contracts.outcome import Outcome
from bench_assets.contracts.plan import RunStatus, Selection
from bench_assets.contracts.score import JudgeIdentity


class Interval(Record):
    """A 95 % interval."""

    low: float
    high: float


class Latency(Record):
    """Quantiles of `duration_ms` over the answered executions, interpolated linearly between the nearest two.

    That is what Postgres calls `percentile_cont`, so a dashboard over the rows shows the same numbers.
    """

    p50: float
    p90: float
    p99: float
    max: float


class Summary(VersionedRecord):
    """`summary.json`. Every rate is over all planned executions unless it says otherwise."""

    schema_version: int = 1
    total: int
    """Executions planned: questions × repetitions."""
    attempted: int
    """correct + incorrect."""
    correct: int
    accuracy: float | None
    """correct / total; None when nothing was planned."""
    avg_score: float | None
    """Mean of `value`, where everything without a verdict counts 0; equal to `accuracy` for these labels."""
    precision: float | None
    """correct / attempted; None when nothing was attempted."""
    recall: float | None
    """The same as `accuracy`."""
    f1: float | None
    """2PR / (P + R); None when either is None, 0.0 when both are 0."""
    judged: bool
    """True when nothing is left to judge: no judge_error, and nothing missing."""
    questions: int
    executions: int
    """The same as `total`."""
    repetitions: int
    outcomes: dict[Outcome, int]
    """Count of each outcome; they add up to `total`."""
    errors: int
    """agent_error + judge_error + missing."""
    error_kinds: dict[str, int]
    """Count of each kind of agent error and code of judge error."""
    coverage: float | None
    """Share of executions that have a verdict; None when nothing was planned."""
    accuracy_low: float | None
    """Accuracy if every execution without a verdict were wrong (which is how `accuracy` counts them)."""
    accuracy_high: float | None
    """Accuracy if every execution without a verdict were right."""
    stderr: float | None
    """Standard error of `accuracy`, clustered by question; None below 2 questions.

    The sample standard deviation (n - 1) of the questions' means / √questions. What has no verdict counts 0.
    """
    interval: Interval | None
    """95 % Wilson interval of `accuracy`, over what the run is worth in observations; None when nothing was planned."""
    latency_ms: Latency | None
    """None when nothing was answered."""
    partial: bool
    """True when the run covers only a part of its dataset (`limit`, `sample`) or some executions are missing."""
    judging: JudgingFigures | None = None
    """How the verdicts came about; None in summaries that were made without the scores."""


class RunRecord(VersionedRecord):
    """`run.json`: everything needed to believe a run, and to repeat it."""

    schema_version: int = 1
    run_id: str
    status: RunStatus
    start_time: str
    """ISO 8601, UTC, microseconds: when the plan was made."""
    finish_time: str | None
    """The same, when the last file was ready; None until `status` is `finished`."""
    candidate: str
    benchmark: str
    """`name@version`."""
    dataset: str
    description: str
    agent_source: str
    """Credentials removed."""
    agent_entry_point: str | None
    agent_import_path: str | None
    agent_extra_deps: list[str]
    worker_source: str
    commit: str | None
    dirty: bool | None
    timeout: float
    worker_ready_timeout: float
    limit: int | None
    sample: int | None
    seed: int
    repeats: int
    """The same as `selection.repetitions`."""
    parallelism: int
    retries: int
    retry_backoff_sec: float
    checkpoint_dir: str
    checkpoint_flush_every: int
    resume: bool
    selection: Selection
    policy: ExecutionPolicy
    plan_identity: str
    dataset_digest: str
    spec_digest: str
    total_rows: int
    environment: EnvironmentRecord
    """Without its lock's text, which is `environment.lock` beside this file."""
    describe: dict[str, JsonValue] | None
    """What the adapter's `describe()` said; None where it has none."""
    kwargs: dict[str, JsonValue]
    agent_env: list[str]
    """Names of the variables that the agent could see; values only for those known to be harmless."""
    env_overrides: dict[str, str]
    """Name → value where the name is known to be harmless, else `***`."""
    judge: JsonValue = None
    """The judge's settings, secrets replaced by `***`."""
    judge_identity: JudgeIdentity | None
    """None until something was judged."""
    scorer: str
    bench_assets_version: str
    bench_assets_commit: str | None
    dagster_run_ids: list[str] = Field(default_factory=list)


class FinishedRun(VersionedRecord):
    """What the `summary` step hands on: `<root>/<name>/<version>/summary/<candidate>.json`."""

    schema_version: int = 1
    run_id: str
    candidate: str
    benchmark: str
    """`name@version`."""
    folder: str
    """Where the bundle lies: a folder or an `s3://` address."""
    summary: Summary
