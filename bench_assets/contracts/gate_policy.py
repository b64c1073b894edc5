"""`gate:` in `benchmark.yaml`: what is asked of a candidate before it may take its baseline's place."""

from typing import Annotated

from pydantic import Field, field_validator

from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.base import Record
from bench_assets.errors import InvalidAgent

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
