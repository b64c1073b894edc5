"""`gate.json`: may a candidate take its baseline's place?"""

from typing import Literal

from bench_assets.contracts.base import Record, VersionedRecord
from bench_assets.contracts.comparison import Comparable
from bench_assets.contracts.gate_policy import GatePolicy
from bench_assets.contracts.run import Interval

Verdict = Literal["GO", "NO-GO", "INCONCLUSIVE"]

EXIT_CODES: dict[Verdict, int] = {"GO": 0, "NO-GO": 1, "INCONCLUSIVE": 2}
"""What a command that asks the gate exits with."""

CheckStatus = Literal["pass", "fail", "unknown"]
"""`unknown`: the data cannot tell. One `fail` makes a NO-GO; without one, one `unknown` makes it INCONCLUSIVE."""

CheckName = Literal[
    "baseline",
    "comparable",
    "accuracy",
    "coverage",
    "agent_errors",
    "judge",
    "must_pass",
    "latency",
    "cost",
]


class GateCheck(Record):
    """One condition of the policy."""

    name: CheckName
    status: CheckStatus
    reason: str
    """One sentence with what was found and what is allowed."""


class GateDecision(VersionedRecord):
    """`gate.json`."""

    schema_version: int = 1
    benchmark: str
    """`name@version`."""
    candidate: str
    run_id: str
    baseline: str | None
    """The candidate it was held against; None when there was none."""
    baseline_run_id: str | None
    verdict: Verdict
    checks: list[GateCheck]
    """Every condition that was looked at: those that failed first, then the unknown, then the passed."""
    comparable: Comparable | None
    """None without a baseline; likewise the figures below."""
    delta: float | None
    """candidate - baseline on the common questions."""
    interval: Interval | None
    """Of `delta`, at 1 - `policy.alpha` (95 % where that is None)."""
    p_value: float | None
    """As it was held against `alpha`: corrected where several candidates met one baseline."""
    n: int | None
    """Common questions."""
    detectable_drop: float | None
    """Smallest true drop for which this gate says NO-GO in 80 of 100 such comparisons; None when there is none."""
    questions_needed: int | None
    """About how many questions would have ruled out a drop beyond `max_drop`; None unless that is what is open."""
    policy: GatePolicy
    decided_at: str
    """ISO 8601, UTC, microseconds."""

    @property
    def reasons(self) -> list[str]:
        """The sentences of all checks, in their order."""
        return [check.reason for check in self.checks]

    @property
    def exit_code(self) -> int:
        """0 GO, 1 NO-GO, 2 INCONCLUSIVE."""
        return EXIT_CODES[self.verdict]
