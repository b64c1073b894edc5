"""What the options of `bench-assets run` ask for."""

from dataclasses import dataclass, field, fields
from pathlib import Path

from bench_assets.errors import InvalidInput
from bench_assets.planning.only import Only
from bench_assets.planning.settings import RunSettings


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of `bench-assets run`, under their names."""

    benchmark: str
    agent: str
    agent_entry_point: str | None = None
    agent_import_path: str | None = None
    agent_extra_dep: tuple[str, ...] = ()
    agent_python: str | None = None
    agent_env: tuple[str, ...] = ()
    env_override: tuple[str, ...] = field(default=(), repr=False)
    timeout: float | None = None
    worker_ready_timeout: float | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int | None = None
    repetitions: int | None = None
    parallelism: int | None = None
    concurrency: int | None = None
    min_start_interval: float | None = None
    retries: int | None = None
    retries_for: tuple[str, ...] = ()
    questions_per_worker: int | None = None
    retry_backoff_sec: float | None = None
    checkpoint_dir: str | None = None
    checkpoint_flush_every: int | None = None
    resume: bool = False
    reuse_answers: bool = False
    only: str | None = None
    skip_judge: bool = False
    no_verdict_cache: bool = False
    output_dir: Path | None = None
    upload_dir: str | None = None
    invalidate_agent_cache: bool = False
    log_level: str = "warning"
    log_ipc: bool = False
    worker_source: str | None = None
    description: str = ""
    run_id: str | None = None

    def settings(self) -> RunSettings:
        """Return the settings of the run. Raises InvalidInput for values that make no run."""
        same = RunSettings.model_fields.keys() & {item.name for item in fields(self)}
        values = {name: getattr(self, name) for name in same} | {
            "timeout_sec": self.timeout,
            "worker_ready_timeout_sec": self.worker_ready_timeout,
            "min_start_interval_sec": self.min_start_interval,
            "checkpoint_dir": absolute_place(self.checkpoint_dir) if self.checkpoint_dir else None,
            "env_overrides": dict(_pair(text, option="--env-override") for text in self.env_override),
            "retries_by_cause": dict(_pair(text, option="--retries-for") for text in self.retries_for) or None,
        }
        if self.only is not None:
            Only(self.only)
            values["resume"] = True
        return RunSettings.from_json(values, source="the command line")


def absolute_place(text: str) -> str:
    """Return a place as it is meant from the current folder: a folder made absolute, an address as it is."""
    return text if "://" in text else str(Path(text).expanduser().absolute())


def _pair(text: str, *, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"{option} `{name}` has no value; write NAME=VALUE.")
    return name, value
