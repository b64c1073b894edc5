"""What is known of a judge: how it judged a run, and how well it agrees with people."""

from pydantic import Field

from bench_assets.contracts.base import JsonValue, Record, VersionedRecord
from bench_assets.contracts.outcome import Label
from bench_assets.contracts.score import JudgeIdentity


class KappaInterval(Record):
    """A 95 % interval of a kappa."""

    low: float
    high: float


class CalibrationNote(Record):
    """The calibration in force, in short."""

    judge: str
    """Digest of the calibrated judge's identity: that of the scores."""
    created_at: str
    """ISO 8601, UTC, microseconds."""
    rows: int
    """Human-labelled rows that the judge gave a verdict on."""
    accuracy: float | None
    """Share of them with the people's label; None when there are none."""
    kappa: float | None
    """Cohen's kappa between judge and people; None when either used a single label only."""
    interval: KappaInterval | None
    """Of `kappa`; None as `kappa` is."""


class LabelQuality(Record):
    """How far one label of a judge can be trusted."""

    said: int
    """How often the judge said it."""
    precision: float | None
    """Share of these where people said it too; None when the judge never said it."""
    recall: float | None
    """Share of the people's that the judge found; None when people never said it."""


class Calibration(VersionedRecord):
    """`calibrations/<judge>.json`: a judge held against people."""

    schema_version: int = 1
    judge: JudgeIdentity
    """Bound to it: another model, prompt, rubric or parameter is another judge, without a calibration."""
    created_at: str
    """ISO 8601, UTC, microseconds."""
    source: str
    """Name of the file with the human-labelled rows."""
    source_digest: str
    """SHA-256 of its bytes."""
    rows: int
    """Rows that have a label of both."""
    failed: dict[str, int]
    """Rows on which the judge gave no verdict, by error code. They count nowhere else."""
    accuracy: float | None
    """Share of `rows` with the same label; None when there are none."""
    kappa: float | None
    """Cohen's kappa; None when chance alone would give full agreement, or there are no rows."""
    interval: KappaInterval | None
    """95 %, from the asymptotic standard error of Fleiss, Cohen and Everitt (1969), cut to [-1, 1]."""
    labels: dict[Label, LabelQuality]
    confusion: dict[Label, dict[Label, int]]
    """`confusion[people][judge]`: how often people said one and the judge the other."""
    flagged: int = 0
    """Verdicts whose reason plainly contradicts their label."""

    def note(self) -> CalibrationNote:
        """Return it in short."""
        return CalibrationNote(
            judge=self.judge.digest,
            created_at=self.created_at,
            rows=self.rows,
            accuracy=self.accuracy,
            kappa=self.kappa,
            interval=self.interval,
        )


class JudgingFigures(Record):
    """How the verdicts of a run came about."""

    methods: dict[str, int]
    """Verdicts by what gave them: a matcher, `llm_judge`, `llm_panel`. A chain has several."""
    labels: dict[str, dict[Label, int]]
    """For each judge (by digest) how often it gave each label; with votes or a panel every vote counts."""
    calls: int
    """Requests made for this scoring."""
    cached: int
    """Verdicts that came from earlier ones and cost nothing."""
    tokens: dict[str, int]
    """Tokens of these requests, by the endpoint's own names; empty where it reports none."""
    cost: float | None
    """Of these tokens, in the currency of the judge's `prices`; None without a price, and for panels of several."""
    flagged: int
    """Verdicts whose reason plainly contradicts their label: worth a look."""
    voted: int
    """Answers with at least two votes."""
    split: int
    """Those of them whose votes were not all the same."""
    alpha: float | None
    """Krippendorff's alpha (nominal) among the votes; None when nothing was voted on or only one label was given."""
    fleiss_kappa: float | None
    """Fleiss' kappa over the answers on which every vote counted; None as `alpha`, or when their number varies."""
    calibration: CalibrationNote | None = None
    """The calibration of this judge that was in force; None: it was never held against people."""


class LabelChange(Record):
    """One execution that two judges label differently."""

    id: str
    repetition: int
    before: Label | None
    """None where there was no verdict."""
    after: Label | None
    before_reason: str
    after_reason: str


class Scoring(VersionedRecord):
    """`scorings/<run_id>/<judge>/scoring.json`: one judge's scores of a run's kept answers."""

    schema_version: int = 1
    run_id: str
    judge: JudgeIdentity
    settings: JsonValue = None
    """The judge's settings, secrets replaced by `***`."""
    created_at: str
    """ISO 8601, UTC, microseconds."""
    complete: bool
    """True when no execution is left without a verdict by this judge."""
    bench_assets_version: str
    notes: list[str] = Field(default_factory=list)
    """What a reader must know, in sentences."""
