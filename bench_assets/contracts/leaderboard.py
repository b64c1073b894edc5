"""All candidates of a benchmark in one table."""

from pydantic import Field

from bench_assets.contracts.base import Record, VersionedRecord
from bench_assets.contracts.gate import Verdict
from bench_assets.contracts.run import Interval


class Standing(Record):
    """One candidate's newest run on a benchmark: a line of the leaderboard, or a point of the history."""

    candidate: str
    run_id: str
    accuracy: float | None
    """None when nothing was planned."""
    interval: Interval | None
    """95 %, Wilson; None when nothing was planned."""
    questions: int
    repetitions: int
    errors: int
    """Executions without a verdict; they count as wrong in `accuracy`."""
    coverage: float | None
    latency_p50_ms: float | None
    """None when nothing was answered."""
    partial: bool
    """True when the run covers only a part of the dataset, so that its accuracy is one over other questions."""
    same_questions: bool = True
    """False when its dataset or selection is not the one that most of the others have."""
    start_time: str | None = None
    """ISO 8601, UTC; None when not known."""
    verdict: Verdict | None = None
    """What its gate said; None when it was not asked."""
    delta: float | None = None
    """Against the common baseline; None for the baseline itself, or when not compared."""
    p_value: float | None = None
    """Of `delta`, Holm-corrected for all that were compared with this baseline."""
    compared: int | None = None
    """Questions behind `delta` and `p_value`."""


class Leaderboard(VersionedRecord):
    """`leaderboard`: who stands where."""

    schema_version: int = 1
    benchmark: str
    """`name@version`."""
    baseline: str | None = None
    """The candidate that `delta` is against; None when nothing was compared."""
    standings: list[Standing]
    """Best accuracy first."""
    missing: list[str] = Field(default_factory=list)
    """Known candidates that have no finished run here, sorted."""
