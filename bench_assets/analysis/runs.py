"""A finished run, read once and kept lean, so that it can be held against others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bench_assets.analysis.usage import money_of, tokens_of
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
    money: float | None = None
    """None where the adapter reports none; likewise `tokens`."""
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is, besides its id."""

    question: str
    golden: str | list[str]

    @property
    def goldens(self) -> list[str]:
        """The reference answers: `"4"` and `["4"]` are the same."""
        return [self.golden] if isinstance(self.golden, str) else self.golden


@dataclass(frozen=True)
class ObservedRun:
    """A finished run. Question ids are in the order of its answers."""

    run: RunRecord
    summary: Summary
    asked: dict[str, Asked]
    executions: dict[str, tuple[Observation, ...]]
    """Each as long as there are repetitions; what was planned and never settled is `missing`."""
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
        if question_id in self.asked:
            return True
        if self.lost == 0:
            return False
        ids = self.run.selection.ids
        return self.run.dataset_digest == dataset_digest if ids is None else question_id in ids


def observe_run(
    run: RunRecord,
    summary: Summary,
    *,
    answers: Iterable[AnswerRecord],
    scores: Iterable[ScoreRecord],
    meta: Mapping[str, Mapping[str, JsonValue]] | None = None,
) -> ObservedRun:
    """Read a finished run's files once; the two streams may be in different orders.

    `meta` maps question ids to the dataset's `meta`, for groups; None leaves groups out. Raises InvalidInput for a run
    that is not finished, and for answers and scores that do not belong together.
    """
    if run.status != "finished":
        raise InvalidInput(
            f"The run `{run.run_id}` of `{run.candidate}` cannot be compared: its status is `{run.status}`, not "
            f"`finished`. Go on with it first, for instance with `bench-assets run … --resume --run-id {run.run_id}`."
        )
    settled = {(score.id, score.repetition): score for score in _once(scores, run)}
    asked: dict[str, Asked] = {}
    found: dict[str, dict[int, Observation]] = {}
    for answer in answers:
        score = settled.pop((answer.id, answer.repetition), None)
        if score is None:
            raise InvalidInput(
                f"The run `{run.run_id}` holds an answer to `{answer.id}` (repetition {answer.repetition}) without a "
                "score, or twice. Materialize `scores` and `summary` again."
            )
        known = asked.setdefault(answer.id, Asked(answer.question, answer.golden))
        if known.question != answer.question:
            raise InvalidInput(f"The run `{run.run_id}` asked two different questions under the id `{answer.id}`.")
        found.setdefault(answer.id, {})[answer.repetition] = _observation(answer, score)
    stray = [key for key, score in settled.items() if score.outcome != "missing"]
    if stray:
        raise InvalidInput(
            f"The run `{run.run_id}` holds a score of `{stray[0][0]}` (repetition {stray[0][1]}) without its answer. "
            "Materialize `answers` and `scores` again."
        )
    selection = run.selection
    if len(found) > selection.questions or any(max(of) > selection.repetitions for of in found.values()):
        raise InvalidInput(
            f"The run `{run.run_id}` holds more than its plan of {selection.questions} questions × "
            f"{selection.repetitions} repetitions. Its files are not all its own."
        )
    missing = Observation("missing")
    return ObservedRun(
        run=run,
        summary=summary,
        asked=asked,
        executions={
            id_: tuple(of.get(number, missing) for number in range(1, selection.repetitions + 1))
            for id_, of in found.items()
        },
        meta=meta or {},
        lost=selection.questions - len(found),
    )


def _once(scores: Iterable[ScoreRecord], run: RunRecord) -> Iterable[ScoreRecord]:
    seen: set[tuple[str, int]] = set()
    for score in scores:
        key = (score.id, score.repetition)
        if key in seen:
            raise InvalidInput(f"The run `{run.run_id}` scores `{key[0]}` (repetition {key[1]}) twice.")
        seen.add(key)
        yield score


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
        money=money_of(answer.usage),
        tokens=tokens_of(answer.usage),
    )


def shortened(text: str | None) -> str | None:
    """Return `text`, cut at `LONGEST_TEXT` characters with a mark that says so."""
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({len(text) - LONGEST_TEXT} more characters)"
