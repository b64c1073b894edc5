"""How the verdicts of a run came about, and how a judge compares with people. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bench_assets.analysis.agreement import cohens_kappa, fleiss_kappa, krippendorffs_alpha
from bench_assets.contracts.judge import TokenPrice
from bench_assets.contracts.judging import (
    Calibration,
    CalibrationNote,
    JudgingFigures,
    KappaInterval,
    LabelChange,
    LabelQuality,
)
from bench_assets.contracts.outcome import LABELS, Label
from bench_assets.contracts.score import JudgeIdentity, ScoreRecord
from bench_assets.errors import InvalidInput


@dataclass
class JudgingCounts:
    """Adds up scores as they pass by; holds none of them."""

    methods: Counter[str] = field(default_factory=Counter)
    labels: dict[str, Counter[Label]] = field(default_factory=dict)
    tokens: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    cached: int = 0
    flagged: int = 0
    votes: Counter[tuple[tuple[Label, ...], int]] = field(default_factory=Counter)
    """How many scores have these votes, of so many that were asked for, failed ones included."""

    def add(self, score: ScoreRecord) -> ScoreRecord:
        """Count one score and hand it on."""
        self.calls += score.calls
        self.cached += score.cached
        self.tokens.update(score.usage or {})
        self.flagged += bool(score.flags)
        if score.label is not None:
            self.methods[score.method] += 1
        if not score.votes and score.label is not None:
            self.labels.setdefault(score.judge, Counter())[score.label] += 1
        for vote in score.votes:
            if vote.label is not None:
                self.labels.setdefault(vote.judge, Counter())[vote.label] += 1
        if len(score.votes) > 1:
            given = tuple(sorted(vote.label for vote in score.votes if vote.label is not None))
            self.votes[given, len(score.votes)] += 1
        return score

    def figures(self, *, price: TokenPrice | None, calibration: CalibrationNote | None) -> JudgingFigures:
        """Return what was counted. `price` is that of the model; None leaves the cost open."""
        prompt, completion = self.tokens["prompt_tokens"], self.tokens["completion_tokens"]
        cost = None if price is None else (prompt * price.prompt + completion * price.completion) / 1e6
        units = (unit for (unit, _), count in self.votes.items() for _ in range(count))
        whole = (Counter(unit) for (unit, cast), count in self.votes.items() if len(unit) == cast for _ in range(count))
        return JudgingFigures(
            methods=dict(sorted(self.methods.items())),
            labels={judge: {label: counts[label] for label in LABELS} for judge, counts in sorted(self.labels.items())},
            calls=self.calls,
            cached=self.cached,
            tokens={name: count for name, count in sorted(self.tokens.items()) if count},
            cost=cost,
            flagged=self.flagged,
            voted=self.votes.total(),
            split=sum(count for (unit, _), count in self.votes.items() if len(set(unit)) > 1),
            alpha=krippendorffs_alpha(units),
            fleiss_kappa=fleiss_kappa(whole),
            calibration=calibration,
        )


def calibrate(
    pairs: Iterable[tuple[Label, ScoreRecord]],
    *,
    judge: JudgeIdentity,
    source: str,
    source_digest: str,
    created_at: str,
) -> Calibration:
    """Return how a judge compares with people, from each row's human label and the judge's score."""
    both: Counter[tuple[Label, Label]] = Counter()
    failed: Counter[str] = Counter()
    flagged = 0
    for human, score in pairs:
        flagged += bool(score.flags)
        if score.label is None:
            failed[score.error.code if score.error else "unknown"] += 1
        else:
            both[human, score.label] += 1
    rows = both.total()
    kappa = cohens_kappa(both)
    return Calibration(
        judge=judge,
        created_at=created_at,
        source=source,
        source_digest=source_digest,
        rows=rows,
        failed=dict(sorted(failed.items())),
        accuracy=sum(both[label, label] for label in LABELS) / rows if rows else None,
        kappa=kappa.value if kappa else None,
        interval=KappaInterval(low=kappa.interval[0], high=kappa.interval[1]) if kappa else None,
        labels={label: _quality(label, both) for label in LABELS},
        confusion={human: {said: both[human, said] for said in LABELS} for human in LABELS},
        flagged=flagged,
    )


def label_changes(before: Iterable[ScoreRecord], after: Iterable[ScoreRecord]) -> Iterator[LabelChange]:
    """Yield the executions that two scorings of the same answers label differently, in their order.

    Raises InvalidInput when they do not score the same answers.
    """
    for old, new in zip(before, after, strict=True):
        if old.execution_id != new.execution_id:
            raise InvalidInput(
                f"The two scorings do not score the same answers: `{old.id}` stands beside `{new.id}`. Score again."
            )
        if old.label != new.label:
            yield LabelChange(
                id=new.id,
                repetition=new.repetition,
                before=old.label,
                after=new.label,
                before_reason=_words(old),
                after_reason=_words(new),
            )


def _words(score: ScoreRecord) -> str:
    return score.reason or (score.error.message if score.error else "")


def _quality(label: Label, both: Mapping[tuple[Label, Label], int]) -> LabelQuality:
    said = sum(count for (_, judge), count in both.items() if judge == label)
    meant = sum(count for (human, _), count in both.items() if human == label)
    right = both.get((label, label), 0)
    return LabelQuality(said=said, precision=right / said if said else None, recall=right / meant if meant else None)
