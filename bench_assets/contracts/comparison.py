"""`comparison.json`: two finished runs side by side, and what may be concluded from them."""

from typing import Literal, Protocol

from pydantic import Field

from bench_assets.contracts.base import JsonValue, Record, VersionedRecord
from bench_assets.contracts.outcome import Outcome
from bench_assets.contracts.run import Interval, Latency

Comparable = Literal["comparable", "comparable_with_notes", "not_comparable"]

Area = Literal["benchmark", "population", "selection", "scoring", "execution", "environment", "agent"]
"""What a difference is about. `agent` is what a new version is meant to change; the rest should stay as it was."""

Weight = Literal["intended", "note", "blocks"]
"""`intended`: the change under test. `note`: may move the figures. `blocks`: the figures cannot be held together."""

TransitionKind = Literal[
    "fixed", "broken", "still_right", "still_wrong", "to_error", "from_error", "still_error", "flaky"
]
"""What became of a question from the baseline to the candidate.

A side is *right* when every repetition is correct, *flaky* when some are and some are not, an *error* when none is
correct and at least one has no verdict, and *wrong* otherwise (refusals included). `flaky` is a question that is flaky
on either side; `to_error` came from right or wrong, `from_error` went there.
"""


class Difference(Record):
    """One condition that two runs do not share."""

    area: Area
    name: str
    """The condition, as `run.json` calls it."""
    baseline: JsonValue
    candidate: JsonValue
    weight: Weight
    message: str
    """One sentence."""


class Population(Record):
    """Which questions both runs were asked. All lists hold question ids, in the order of the runs."""

    common: int
    """Questions with equal id, text and golden: only these are compared."""
    added: list[str]
    """Asked of the candidate only."""
    removed: list[str]
    """Asked of the baseline only."""
    edited_questions: list[str]
    """Equal id, another text."""
    edited_goldens: list[str]
    """Equal id and text, another golden."""

    @property
    def same(self) -> bool:
        """True when both runs were asked exactly the same."""
        return not (self.added or self.removed or self.edited_questions or self.edited_goldens)


class RunFigures(Record):
    """One run by itself, over all that was planned for it."""

    run_id: str
    candidate: str
    start_time: str
    """ISO 8601, UTC."""
    questions: int
    repetitions: int
    executions: int
    correct: int
    accuracy: float | None
    """correct / executions; None when nothing was planned. An error counts as not correct."""
    of_judged: float | None
    """correct / executions that have a verdict; None when none has. Flatters a run with errors."""
    wilson: Interval | None
    """95 % Wilson interval of `accuracy`. With repetitions the number of observations is the effective one."""
    stderr: float | None
    """Standard error of `accuracy`, clustered by question; None below 2 questions."""
    outcomes: dict[Outcome, int]
    errors: int
    """agent_error + judge_error + missing."""
    coverage: float | None
    """Share of executions that have a verdict."""
    agent_error_rate: float | None
    """Share of executions that ended in `agent_error`."""
    accuracy_high: float | None
    """Accuracy if everything without a verdict were right. The worst case is `accuracy` itself."""
    pass_at: dict[int, float]
    """k → chance that at least one of k repetitions is correct, k from 1 to `repetitions`."""
    pass_all: dict[int, float]
    """k → chance that all of k repetitions are correct."""
    latency_ms: Latency | None
    """None when nothing was answered."""


class Effect(Record):
    """The candidate against the baseline on their common questions. One question is one observation."""

    n: int
    """Questions."""
    repetitions: int
    """Repetitions of each question that both runs have, and that are compared."""
    baseline_accuracy: float
    candidate_accuracy: float
    delta: float
    """candidate - baseline, as a share: -0.02 is two points worse."""
    stderr: float | None
    """Standard error of `delta`, from the questions' differences; None below 2 questions."""
    interval: Interval
    """95 % interval of `delta`: normal, after two pseudo-questions are added, so that it holds for small n too."""
    bootstrap: Interval
    """95 % percentile interval of `delta` over resampled questions, each with all its repetitions."""
    gained: int
    """Questions of which the candidate has more repetitions right."""
    lost: int
    """Questions of which it has fewer right."""
    p_value: float
    """Two-sided, exact, of no difference. Never quote it without `n`."""
    test: Literal["exact McNemar", "exact sign-flip"]
    """With repetitions, McNemar's test carried over to the questions' means: each difference may flip its sign."""
    detectable: float | None
    """Smallest true drop that the test would find at 5 % in 80 of 100 such comparisons; None when it finds none."""


class Bounds(Record):
    """How far `delta` could move because of executions without a verdict, on the common questions."""

    without_verdict_baseline: int
    """Executions of the baseline that ended in an error."""
    without_verdict_candidate: int
    low: float
    """`delta` if the candidate's were all wrong and the baseline's all right."""
    high: float
    """The reverse."""


class Ratio(Record):
    """A quantity of the candidate as a multiple of the baseline's, over executions that have it in both runs."""

    what: str
    """For instance `median duration_ms` or `mean tokens`."""
    n: int
    """Executions."""
    baseline: float
    candidate: float
    ratio: float | None
    """candidate / baseline; None when the baseline's is 0."""


class Shown(Record):
    """One execution as a comparison shows it."""

    repetition: int
    """From 1."""
    outcome: Outcome
    answer: str | None
    """None where there is none. Cut at 4,000 characters; `answers.jsonl` has the whole."""
    reason: str
    """The judge's; cut likewise."""
    error: str | None
    """Kind and message; None where there was no error."""
    duration_ms: int | None
    """None when the question was never asked."""


class Transition(Record):
    """One common question in both runs."""

    id: str
    question: str
    golden: str | list[str]
    kind: TransitionKind
    meta: dict[str, JsonValue] = Field(default_factory=dict)
    """The dataset's, as far as it was given."""
    baseline: list[Shown]
    """One a compared repetition."""
    candidate: list[Shown]

    @property
    def baseline_score(self) -> float:
        """Share of the baseline's repetitions that are correct."""
        return score_of(self.baseline)

    @property
    def candidate_score(self) -> float:
        """Share of the candidate's repetitions that are correct."""
        return score_of(self.candidate)

    @property
    def baseline_outcome(self) -> Outcome | None:
        """The outcome of all the baseline's repetitions; None where they differ."""
        return outcome_of(self.baseline)

    @property
    def candidate_outcome(self) -> Outcome | None:
        """The outcome of all the candidate's repetitions; None where they differ."""
        return outcome_of(self.candidate)


class TransitionRow(Protocol):
    """What became of a question, without its texts. A `Transition` is one."""

    @property
    def id(self) -> str:
        """The question's."""

    @property
    def kind(self) -> TransitionKind:
        """What became of it."""

    @property
    def baseline_outcome(self) -> Outcome | None:
        """Of all repetitions; None where they differ. `candidate_outcome` likewise."""

    @property
    def candidate_outcome(self) -> Outcome | None:
        """See `baseline_outcome`."""

    @property
    def baseline_score(self) -> float:
        """Share of the repetitions that are correct; `candidate_score` likewise."""

    @property
    def candidate_score(self) -> float:
        """See `baseline_score`."""


class Group(Record):
    """The common questions that share a value of one meta field."""

    field: str
    value: str
    n: int
    """Questions. 0 for a value that only questions outside the comparison have."""
    baseline_accuracy: float | None
    """None when there is no question; likewise below."""
    candidate_accuracy: float | None
    delta: float | None
    interval: Interval | None
    """95 %, of this group alone: among many groups some look different by chance."""
    counts: dict[TransitionKind, int]


class Comparison(VersionedRecord):
    """`comparison.json`."""

    schema_version: int = 1
    benchmark: str
    """`name@version` of the candidate's run."""
    comparable: Comparable
    differences: list[Difference]
    """Those that block first, then notes, then what was intended."""
    population: Population
    baseline: RunFigures
    candidate: RunFigures
    headline_delta: float | None
    """Difference of the two accuracies as each run reports it. Over different questions unless `population.same`."""
    effect: Effect | None
    """On the common questions; None when there is none."""
    unjudged_against: Effect | None
    """The effect if what the judge could not settle were wrong in the candidate and right in the baseline.

    Covers `judge_error` and `missing`; an agent's error is the agent's own. None when everything was judged.
    """
    unjudged_for: Effect | None
    """The reverse."""
    bounds: Bounds | None
    """None when there is no common question."""
    counts: dict[TransitionKind, int]
    """Common questions of each kind."""
    groups: list[Group]
    latency: Ratio | None
    """None when no execution was answered in both runs."""
    cost: Ratio | None
    """None when the adapter reports neither money nor tokens in both runs."""
    notes: list[str]
    """Sentences that belong beside the figures."""
    transitions: list[Transition]
    """The common questions in the candidate's order: all up to 20,000; of more than that, what changed comes first."""
    left_out: int = 0
    """Common questions that are not among them. Every figure and every count is over all."""


def outcome_of(side: list[Shown]) -> Outcome | None:
    """Return the outcome that all repetitions share; None where they differ."""
    return side[0].outcome if len({shown.outcome for shown in side}) == 1 else None


def score_of(side: list[Shown]) -> float:
    """Return the share of correct ones."""
    return sum(shown.outcome == "correct" for shown in side) / len(side)
