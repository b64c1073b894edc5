"""`deployment.yaml`: how a project runs in one place. A laptop needs none; what is measured does not depend on it."""

from pydantic import Field

from bench_assets.contracts.base import Record
from bench_assets.contracts.notification import Notify
from bench_assets.contracts.pod import PodSettings


class Deployment(Record):
    """One deployment's settings. An empty file, or none, means a laptop."""

    max_shards_per_run: int | None = Field(default=None, ge=1)
    """Shards in one Dagster run, so in one pod on a cluster. None means all of a backfill in one run."""
    automatic_priority: int = -10
    """`dagster/priority` of runs that nobody waits for; a person's have 0, and the queue takes the higher one first."""
    watch_interval_sec: int = Field(default=60, ge=1)
    """Least seconds between two looks at the watched repositories."""
    automation_interval_sec: int = Field(default=30, ge=1)
    """Least seconds between two looks at what there is to carry on."""
    pod: PodSettings = PodSettings()
    """What every run needs on Kubernetes; an agent and a run may say otherwise."""
    notify: Notify | None = None
    """Where finished runs are told of; None means nowhere."""
