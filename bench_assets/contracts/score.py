"""What a judge or a matcher made of an answer: the lines of `scores.jsonl`."""

from pydantic import Field

from bench_assets.contracts.base import JsonValue, Record
from bench_assets.contracts.outcome import Label, Outcome


class JudgeIdentity(Record):
    """What decided a verdict. Two scores compare only under an equal `digest`."""

    method: str
    """`exact_match`, …, or `llm_judge`: what `scores.jsonl` calls `method`."""
    provider: str | None = None
    model: str | None = None
    """None for matchers."""
    settings: dict[str, JsonValue]
    """Every parameter that can change a verdict; secret values replaced by `***`."""
    prompt_digest: str | None = None
    """SHA-256 of the system prompt, the rubric, the layout of the request and the reply's schema; None for matchers."""
    scorer_version: int
    """Raised with every change of our own scoring code that can change a verdict."""
    digest: str
    """16 hex digits over all of the above."""


class ScoreError(Record):
    """Why a judge gave no verdict."""

    code: str
    """What happened, in a word that can be counted.

    Of the reply: `unknown_label`, `wrong_shape`, `ambiguous_label`, `broken_json`, `truncated`, `too_long`,
    `no_content`, `judge_empty:<finish reason>`. Of the call: `http_<status>`, `timeout`, `connection`, `bad_response`.
    `budget`: a limit of the judge's settings on requests, tokens or money. `no_majority`: the votes did not agree.
    Of a matcher: `bad_golden`, `regex_timeout`, `matcher_error`, `undecided`.
    """
    message: str
    """One sentence; credentials removed."""


class Vote(Record):
    """One of several judgements of an answer."""

    judge: str
    """Digest of its judge's identity."""
    label: Label | None
    """None when it failed."""
    reason: str = ""
    error: ScoreError | None = None
    """None when there is a label."""


class Verdict(Record):
    """What came of judging one answer."""

    label: Label | None
    """None when there is no verdict."""
    reason: str = ""
    method: str | None = None
    """The matcher of a chain that settled it; None where the judge itself did."""
    error: ScoreError | None = None
    """None when there is a verdict."""
    votes: list[Vote] = Field(default_factory=list)
    """Every vote, where an answer was judged several times or by a panel; else empty."""
    flags: list[str] = Field(default_factory=list)
    """What a person should look at: `reason_contradicts_label`."""
    replies: list[str] = Field(default_factory=list)
    """The judge's replies, raw, in order; empty for matchers."""
    calls: int = 0
    """Requests made for it now; 0 for matchers and for a verdict that was kept."""
    cached: bool = False
    """True when the verdict came from an earlier one on the same content."""
    usage: dict[str, int] | None = None
    """Tokens, summed over the requests; None where the endpoint reports none."""


class ScoreRecord(Record):
    """One line of `scores.jsonl`."""

    run_id: str | None = None
    """The run it belongs to; None in records that were made outside a run."""
    id: str
    value: float | None
    """1.0 for `correct`, 0.0 for the other labels and for an agent's error, None when there is no verdict."""
    method: str
    reason: str
    label: Label | None
    """None where there was nothing to judge (an agent's error), or no verdict."""
    repetition: int
    execution_id: str
    outcome: Outcome
    judge: str
    """Digest of the judge's identity."""
    cached: bool = False
    """True when the verdict came from an earlier one on the same content."""
    error: ScoreError | None = None
    votes: list[Vote] = Field(default_factory=list)
    """Every vote, where an answer was judged several times or by a panel; else empty."""
    flags: list[str] = Field(default_factory=list)
    """What a person should look at: `reason_contradicts_label`."""
    replies: list[str] = Field(default_factory=list)
    calls: int = 0
    """Requests to the judge made for this score; 0 for a matcher and for a verdict that was kept."""
    usage: dict[str, int] | None = None
    """Tokens of these requests; None where there were none, or none were reported."""
