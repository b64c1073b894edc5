"""What `comparison` hands on: `<root>/<name>/<version>/comparison/<candidate>.json`."""

from bench_assets.contracts.base import VersionedRecord
from bench_assets.contracts.comparison import Comparison
from bench_assets.contracts.gate import GateDecision


class Assessment(VersionedRecord):
    """A candidate's newest finished run, compared and decided on.

    Small, because every later decision and every leaderboard reads those of all candidates.
    """

    schema_version: int = 1
    benchmark: str
    """`name@version`."""
    candidate: str
    run_id: str
    decision: GateDecision
    comparison: Comparison | None
    """Without its transitions, which `comparison.json` in the run's folder has. None without a baseline."""
    lasting: GateDecision | None
    """The newest decision on a run over everything that the benchmark asks; None when there was none.

    A smoke test (`limit`, `sample`) changes nothing about whether a candidate is accepted.
    """
