"""`gate.json`: may a candidate take its baseline's place? And the policy in `benchmark.yaml` that decides it."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.base import Record, VersionedRecord
from bench_assets.contracts.comparison import Comparable
from bench_assets.contracts.run import Interval
from bench_assets.errors import InvalidAgent

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

Share = Annotated[float, Field(ge=0, le=1)]


class GatePolicy(Record):
    """`gate:` in `benchmark.yaml`."""

    baseline: str = "last_accepted"
    """What a candidate is held against.

    `last_accepted`: the newest candidate of the same agent whose gate said GO. `previous`: the version before it,
    whatever its gate said. Anything else is a candidate's key.
    """
    max_drop: Share = 0.02
    """Largest loss of accuracy that is allowed, as a share: 0.02 is two points.

    NO-GO when the loss is larger and beyond chance; GO when the interval rules a larger loss out; else INCONCLUSIVE.
    """
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = 0.05
    """Accepted chance of an unjust NO-GO, and of the interval to miss. None: the observed loss alone decides."""
    min_coverage: Share = 0.95
    """Least `coverage`: the share of executions that have a verdict.

    Below it the gate says NO-GO when the agent's own errors are to blame, and else INCONCLUSIVE.
    """
    max_error_rate: Share | None = None
    """Largest share of executions that may end in `agent_error`; None sets no limit (they count as wrong anyway)."""
    min_judge_kappa: Annotated[float, Field(ge=-1, le=1)] | None = None
    """Least agreement (Cohen's kappa) of the judge with people; None asks for none."""
    must_pass: list[str] = Field(default_factory=list)
    """Ids of questions that must be correct in every repetition."""
    max_latency_ratio: Annotated[float, Field(gt=0)] | None = None
    """Largest median latency as a multiple of the baseline's; None sets no limit."""
    max_cost_ratio: Annotated[float, Field(gt=0)] | None = None
    """Largest cost as a multiple of the baseline's; None sets no limit."""
    allow_population_change: bool = False
    """True decides on the common questions although some were removed or edited; otherwise that alone is a NO-GO."""

    @field_validator("baseline")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ("last_accepted", "previous"):
            try:
                CandidateKey.parse(value)
            except InvalidAgent as error:
                raise ValueError(f"`last_accepted`, `previous` or a candidate is needed. {error}") from error
        return value

    @field_validator("must_pass", mode="before")
    @classmethod
    def _texts(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        return [str(item) if isinstance(item, int) and not isinstance(item, bool) else item for item in value]


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
