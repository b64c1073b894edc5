"""The frozen decision what to run: `<root>/<name>/<version>/plan/<candidate>.json`."""

from typing import Literal

from pydantic import Field

from bench_assets.contracts.base import JsonValue, Record, VersionedRecord, digest
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.environment import EnvironmentRecord
from bench_assets.contracts.judge import JudgeSpec

PACE = (
    "parallelism",
    "concurrency",
    "min_start_interval_sec",
    "questions_per_worker",
    "checkpoint_flush_every",
    "worker_ready_timeout_sec",
)
"""Parts of the policy that change how fast a run goes, not what it is: a resume may change them."""


BESIDES = ("created_at", "dagster_run_id", "description", "resume", "reuse_from", "checkpoint_dir", "spec_digest")
"""Fields of a plan that decide nothing: where it came from, and a digest of what stands in other fields."""


class Selection(Record):
    """Which questions, how often."""

    limit: int | None = None
    """At most so many, taken after `sample`; None means all."""
    sample: int | None = None
    """A random subset of so many; None means all."""
    seed: int = 0
    repetitions: int = 1
    ids: list[str] | None = None
    """The chosen question ids, in order, where `limit` or `sample` chose; None means every question of the dataset."""
    questions: int
    """How many were chosen."""

    @property
    def executions(self) -> int:
        """Questions × repetitions."""
        return self.questions * self.repetitions


class VariableDigest(Record):
    """A variable of the agent. Its value stays where it was given, and is not in the plan."""

    name: str
    digest: str
    """SHA-256 of the name and the value."""


class Plan(VersionedRecord):
    """One run, decided."""

    schema_version: int = 1
    run_id: str
    """`YYYYMMDD-HHMMSS-xxxxxxxx`, UTC, or what the person gave."""
    candidate: str
    benchmark: str
    """`name@version`."""
    description: str = ""
    created_at: str
    """ISO 8601, UTC, microseconds."""
    dataset: str
    """The dataset's file, as the spec names it."""
    dataset_digest: str
    """SHA-256 of the dataset's bytes."""
    spec_digest: str
    """SHA-256 of the spec's canonical JSON."""
    total_rows: int
    """Rows of the dataset, before the selection."""
    selection: Selection
    shards: int
    policy: ExecutionPolicy
    judge: JudgeSpec
    """As the spec has it. What a run's own overrides make of it stands in the scores."""
    environment: EnvironmentRecord
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    """Handed to `run` with each question."""
    agent_env: list[str] = Field(default_factory=list)
    """Names of the variables that the agent may see."""
    seen_env: list[VariableDigest] = Field(default_factory=list)
    """Digests of those that were set and are no secrets: another model's name is another run, a new key is not."""
    variant_env: list[VariableDigest] = Field(default_factory=list)
    env_overrides: list[VariableDigest] = Field(default_factory=list)
    """Variables that win over those of the same name from anywhere else."""
    dagster_run_id: str | None = None
    """The Dagster run that made the plan; holds the values of `env_overrides`. None outside Dagster."""
    checkpoint_dir: str | None = None
    """Where the journal goes; None means `<root>/checkpoints`."""
    resume: bool = False
    """True when the person asked to go on with the run before it."""
    reuse_from: str | None = None
    """The run whose answers are taken over where the execution is the same; None takes none over."""

    def identity_fields(self) -> dict[str, JsonValue]:
        """Return everything that decides what is asked and how it is scored."""
        fields = self.to_json()
        for name in BESIDES:
            del fields[name]
        fields["environment"] = self.environment.identity_fields()
        for name in PACE:
            del fields["policy"][name]
        return fields

    @property
    def identity(self) -> str:
        """SHA-256 of `identity_fields`: equal for the same run only."""
        return digest(self.identity_fields())


RunStatus = Literal["checkpoint", "interrupted", "finished"]
"""`checkpoint`: under way, or waiting for its judge. `interrupted`: stopped. `finished`: every execution settled."""
