"""`benchmark.yaml` and the rows of `dataset.jsonl`."""

from typing import Annotated

from pydantic import Field

from bench_assets.contracts.answer import ErrorKind
from bench_assets.contracts.base import JsonValue, Record
from bench_assets.contracts.gate_policy import GatePolicy
from bench_assets.contracts.judge import JudgeSpec

PART = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""A benchmark's name and version become asset key parts and folder names."""


class ExecutionPolicy(Record):
    """How hard, how long and how often an agent is asked. Part of the plan, and written to run.json."""

    timeout_sec: float = Field(default=300.0, gt=0)
    """Seconds for one attempt at one question; past it the attempt ends and its worker is replaced."""
    worker_ready_timeout_sec: float = Field(default=120.0, gt=0)
    """Seconds for a started worker to say `ready`; raise it for agents that initialise for long."""
    parallelism: int = Field(default=4, ge=1, le=1024)
    """Workers at once."""
    concurrency: int = Field(default=1, ge=1, le=4096)
    """Questions in flight in one worker; more than 1 needs an adapter whose `run` is async."""
    retries: int = Field(default=1, ge=0)
    """Further attempts after one that failed."""
    retries_by_cause: dict[ErrorKind, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Another budget than `retries` after an attempt that ended in a certain way, for instance `{timeout: 0}`."""
    retry_backoff_sec: float = Field(default=1.0, ge=0)
    """Pause before the second attempt; it doubles with each further one, with up to 25 % of jitter."""
    min_start_interval_sec: float = Field(default=0.0, ge=0)
    """Least seconds between two questions handed out, over all workers: protects a rate-limited provider."""
    questions_per_worker: int | None = Field(default=None, ge=1)
    """After so many questions a worker is replaced by a fresh one, for agents that leak; None means never."""
    checkpoint_flush_every: int = Field(default=50, ge=1)
    """Object-store checkpoints: settled answers a segment. A local checkpoint writes each one at once."""


class BenchmarkSpec(ExecutionPolicy):
    """What `benchmark.yaml` (or `benchmark.json`) says. `name@version` names it on the command line.

    The fields of `ExecutionPolicy` stand in it too: they are the defaults of a run.
    """

    name: Annotated[str, Field(pattern=PART)]
    """Letters, digits, `.`, `_`, `-`."""
    version: Annotated[str, Field(pattern=PART)]
    """Text: quote it in YAML, or `1.10` turns into the number 1.1."""
    description: str = ""
    """What it measures, shown in the UI."""
    dataset: str = "dataset.jsonl"
    """The dataset's file, relative to the spec's folder and inside it."""
    question_key: str = "question"
    """The field of a row that holds the question."""
    golden_key: str = "golden"
    """The field of a row that holds the reference answer."""
    judge: JudgeSpec
    """How answers are scored."""
    shards: int = Field(default=8, ge=1, le=1000)
    """Parts in which the questions are materialized. A few large ones: each costs Dagster about 0.1 s."""
    repetitions: int = Field(default=1, ge=1)
    """How often each question is asked."""
    limit: int | None = Field(default=None, ge=1)
    """At most so many questions; None means all."""
    sample: int | None = Field(default=None, ge=1)
    """A random subset of so many questions; None means all."""
    seed: int = 0
    """Seed of `sample`."""
    automation: bool = False
    """Whether a new plan is carried on by itself, by Dagster's daemon: answers, scores and everything behind them."""
    gate: GatePolicy = GatePolicy()
    """What is asked of a candidate before it may take its baseline's place."""

    @property
    def policy(self) -> ExecutionPolicy:
        """The defaults of a run."""
        return ExecutionPolicy(**{name: getattr(self, name) for name in ExecutionPolicy.model_fields})

    @property
    def id(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def shard_names(self) -> tuple[str, ...]:
        """`000`, `001`, …: the keys of the shard dimension."""
        return tuple(f"{number:03d}" for number in range(self.shards))


class Question(Record):
    """One row of a dataset."""

    id: str
    """Unique in the dataset. An integer id in the file becomes its text."""
    question: str
    """What the agent is asked."""
    golden: str | list[str]
    """The reference answer; a list where any of several is right. Never reaches the agent."""
    meta: dict[str, JsonValue] = Field(default_factory=dict)
    """Anything else about the row: topic, source, difficulty. Never reaches the agent."""
