"""A finished run, read once and kept lean, so that it can be held against others."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bench_assets.analysis.columns import MISSING as MISSING_CODE
from bench_assets.analysis.columns import Columns
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.outcome import Outcome
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.contracts.score import ScoreRecord
from bench_assets.errors import InvalidInput

LONGEST_TEXT = 4_000
"""Characters of an answer or a reason that a comparison keeps; `answers.jsonl` has the whole."""


@dataclass(frozen=True, slots=True)
class Observation:
    """How one execution ended."""

    outcome: Outcome
    answer: str | None = None
    """None where there is none."""
    reason: str = ""
    error: str | None = None
    """Kind and message of the agent's or the judge's error; None where there was none."""
    duration_ms: int | None = None
    """None where there is no answer."""


MISSING = Observation("missing")


@dataclass(frozen=True, slots=True)
class Detail:
    """One question of a run with its texts."""

    id: str
    question: str
    golden: str | list[str]
    executions: tuple[Observation, ...]
    """As many as there are repetitions; what was planned and never settled is `missing`."""

    @property
    def goldens(self) -> list[str]:
        """The reference answers: `"4"` and `["4"]` are the same."""
        return [self.golden] if isinstance(self.golden, str) else self.golden


@dataclass(frozen=True)
class ObservedRun:
    """A finished run. Its texts stay where they are stored, and are read again for the questions that are shown."""

    run: RunRecord
    summary: Summary
    columns: Columns
    """Its questions, in the order of its answers."""
    answers: Iterable[AnswerRecord]
    """Can be iterated over any number of times, as can `scores`."""
    scores: Iterable[ScoreRecord]
    meta: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    """Of the dataset, by question id; empty where nobody looked it up."""
    lost: int = 0
    """Questions that were planned and are in no file."""

    @property
    def repetitions(self) -> int:
        """How often each question was to be asked."""
        return self.run.selection.repetitions

    def planned(self, question_id: str, *, dataset_digest: str) -> bool:
        """Return whether this run was to ask a question of that dataset, as far as its files tell."""
        if question_id in self.columns.numbers:
            return True
        if self.lost == 0:
            return False
        ids = self.run.selection.ids
        return self.run.dataset_digest == dataset_digest if ids is None else question_id in ids

    def details(self, wanted: Container[int]) -> Iterator[tuple[int, Detail]]:
        """Yield each question whose number is `wanted` with its texts, roughly in the order of the answers.

        Reads the run's files once, and holds only questions of which some repetitions are still to come.
        """
        step, outcomes = self.repetitions, self.columns.outcomes
        under_way: dict[int, tuple[AnswerRecord, dict[int, Observation]]] = {}
        for place, (answer, score) in enumerate(joined(self.run, self.answers, self.scores)):
            number = self.columns.numbers.find(answer.id) if self.columns.is_numbered else place
            if number is None or number not in wanted:
                continue
            first, of = under_way.setdefault(number, (answer, {}))
            of[answer.repetition] = _observation(answer, score)
            if len(of) == step or len(of) == step - outcomes.count(MISSING_CODE, number * step, (number + 1) * step):
                del under_way[number]
                executions = tuple(of.get(repetition, MISSING) for repetition in range(1, step + 1))
                yield number, Detail(first.id, first.question, first.golden, executions)


def observe_run(
    run: RunRecord,
    summary: Summary,
    *,
    answers: Iterable[AnswerRecord],
    scores: Iterable[ScoreRecord],
    meta: Mapping[str, Mapping[str, JsonValue]] | None = None,
    pairing: bool = True,
    named: Iterable[str] = (),
) -> ObservedRun:
    """Read a finished run's files once; the two streams may be in different orders, which costs memory.

    `answers` and `scores` can be iterated over again: the texts of what is shown are read then. `meta` maps question
    ids to the dataset's `meta`, for groups; None leaves groups out. `pairing` False is enough for a run that is held
    against no other: of that, single questions are known only where they are `named`. Raises InvalidInput for a run
    that is not finished, and for answers and scores that do not belong together.
    """
    if run.status != "finished":
        raise InvalidInput(
            f"The run `{run.run_id}` of `{run.candidate}` cannot be compared: its status is `{run.status}`, not "
            f"`finished`. Go on with it first, for instance with `bench-assets run … --resume --run-id {run.run_id}`."
        )
    selection = run.selection
    columns = Columns(selection.repetitions, pairing=pairing)
    for answer, score in joined(run, answers, scores, before=columns):
        if not columns.add(answer, score):
            raise InvalidInput(f"The run `{run.run_id}` asked two different questions under the id `{answer.id}`.")
    if len(columns) > selection.questions or columns.beyond:
        raise InvalidInput(
            f"The run `{run.run_id}` holds more than its plan of {selection.questions} questions × "
            f"{selection.repetitions} repetitions. Its files are not all its own."
        )
    lost = selection.questions - len(columns)
    if not pairing and selection.repetitions == 1:
        columns.forget(but=named)
    return ObservedRun(
        run=run,
        summary=summary,
        columns=columns,
        answers=answers,
        scores=scores,
        meta=meta or {},
        lost=lost,
    )


def joined(
    run: RunRecord, answers: Iterable[AnswerRecord], scores: Iterable[ScoreRecord], *, before: Columns | None = None
) -> Iterator[tuple[AnswerRecord, ScoreRecord]]:
    """Yield each answer with its score; scores that come early are held until their answer does.

    Raises InvalidInput for answers and scores that do not belong together. `before` is what was yielded by then, and
    tells a second score of one answer from one without an answer.
    """
    early: dict[tuple[str, int], ScoreRecord] = {}
    coming = iter(scores)
    for answer in answers:
        wanted = (answer.id, answer.repetition)
        score = early.pop(wanted, None)
        while score is None:
            score = next(coming, None)
            if score is None:
                raise InvalidInput(
                    f"The run `{run.run_id}` holds an answer to `{answer.id}` (repetition {answer.repetition}) without "
                    "a score, or twice. Materialize `scores` and `summary` again."
                )
            if (found := (score.id, score.repetition)) != wanted:
                _hold(early, found, score, run)
                score = None
        yield answer, score
    for score in coming:
        _hold(early, (score.id, score.repetition), score, run)
    for (question_id, repetition), score in early.items():
        if before is not None and before.is_settled(question_id, repetition):
            raise _twice(run, question_id, repetition)
        if score.outcome != "missing":
            raise InvalidInput(
                f"The run `{run.run_id}` holds a score of `{question_id}` (repetition {repetition}) without its "
                "answer. Materialize `answers` and `scores` again."
            )


def _hold(early: dict[tuple[str, int], ScoreRecord], key: tuple[str, int], score: ScoreRecord, run: RunRecord) -> None:
    if key in early:
        raise _twice(run, *key)
    early[key] = score


def _twice(run: RunRecord, question_id: str, repetition: int) -> InvalidInput:
    return InvalidInput(f"The run `{run.run_id}` scores `{question_id}` (repetition {repetition}) twice.")


def _observation(answer: AnswerRecord, score: ScoreRecord) -> Observation:
    error = f"{score.error.code}: {score.error.message}" if score.error else None
    if answer.error is not None:
        error = f"{answer.error.kind}: {answer.error.message}"
    return Observation(
        outcome=score.outcome,
        answer=shortened(answer.answer),
        reason=shortened(score.reason) or "",
        error=shortened(error),
        duration_ms=None if answer.error is not None else answer.duration_ms,
    )


def shortened(text: str | None) -> str | None:
    """Return `text`, cut at `LONGEST_TEXT` characters with a mark that says so."""
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({len(text) - LONGEST_TEXT} more characters)"
