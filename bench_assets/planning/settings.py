"""What a person can set for one run."""

from typing import Annotated

from pydantic import Field

from bench_assets.contracts.agent import VariableName
from bench_assets.contracts.answer import ErrorKind
from bench_assets.contracts.base import Record

RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""A run_id becomes a folder's name."""


class RunSettings(Record):
    """Settings of one run. None means what the benchmark's spec says."""

    limit: int | None = Field(default=None, ge=1)
    sample: int | None = Field(default=None, ge=1)
    seed: int | None = None
    repetitions: int | None = Field(default=None, ge=1)
    timeout_sec: float | None = Field(default=None, gt=0)
    worker_ready_timeout_sec: float | None = Field(default=None, gt=0)
    parallelism: int | None = Field(default=None, ge=1)
    concurrency: int | None = Field(default=None, ge=1)
    retries: int | None = Field(default=None, ge=0)
    retries_by_cause: dict[ErrorKind, Annotated[int, Field(ge=0)]] | None = None
    retry_backoff_sec: float | None = Field(default=None, ge=0)
    min_start_interval_sec: float | None = Field(default=None, ge=0)
    questions_per_worker: int | None = Field(default=None, ge=1)
    checkpoint_flush_every: int | None = Field(default=None, ge=1)
    checkpoint_dir: str | None = None
    """A folder or `s3://bucket/prefix`; None means `checkpoints/` in the storage."""
    resume: bool = False
    """Go on with the candidate's current run. Where only questions or goldens changed, a new run takes its answers."""
    reuse_answers: bool = False
    """Start a new run, and take over the current run's answers where the execution is the same."""
    description: str = ""
    env_overrides: dict[VariableName, str] = Field(default_factory=dict, repr=False)
    """Variables of the agent for this run; they win. `${NAME}` is taken from bench-assets' own environment."""
    run_id: str | None = Field(default=None, pattern=RUN_ID)
    """None means a fresh one."""
