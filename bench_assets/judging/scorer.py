"""Scores: one for each answer, in the answers' order, by a matcher or by an LLM judge."""

import unicodedata
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench_assets.closing import Closing
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.outcome import Outcome
from bench_assets.contracts.score import JudgeIdentity, ScoreRecord, Verdict
from bench_assets.errors import InvalidJudge
from bench_assets.judging.settings import EffectiveJudge
from bench_assets.judging.verdicts import MemoryVerdicts, VerdictStore

__all__ = ["JudgeItem", "MemoryVerdicts", "Scorer", "VerdictStore", "open_scorer", "score_answers"]


@dataclass(frozen=True, kw_only=True)
class JudgeItem:
    """One answer to be judged."""

    execution_id: str
    question: str
    golden: str | list[str]
    """A list where any of several is right."""
    answer: str


class Scorer(Closing):
    """Gives verdicts. A context manager; what it holds (threads, connections) ends with it."""

    identity: JudgeIdentity
    """What decides its verdicts."""

    @abstractmethod
    def score(self, items: Iterable[JudgeItem]) -> Iterator[tuple[JudgeItem, Verdict]]:
        """Yield each item with its verdict, in order, taking items only a bounded number ahead.

        A failure to judge one item is a verdict without a label. Raises JudgeFailed when no item can be judged.
        """

    @abstractmethod
    def close(self) -> None:
        """End whatever the scorer holds. May be called twice."""


def open_scorer(judge: EffectiveJudge, *, verdicts: VerdictStore | None = None) -> Scorer:
    """Return the scorer of a judge, as a context manager.

    `verdicts` keeps the verdicts of LLM judges; None judges every answer anew. Matchers are faster than any store and
    use none. Raises InvalidJudge for a judge that was made without its key.
    """
    if judge.missing_key is not None:
        raise InvalidJudge(f"The judge needs a key, and the variable `{judge.missing_key}` is not set. Set it.")
    from bench_assets.judging.opening import scorer_in_force

    return scorer_in_force(judge, verdicts=verdicts)


def score_answers(answers: Iterable[AnswerRecord], scorer: Scorer) -> Iterator[ScoreRecord]:
    """Yield one score for each answer, in order, holding only a bounded number of them.

    An error instead of an answer is an `agent_error` with value 0.0, and a blank answer is `not_attempted`; neither
    costs a judgement. Where the judge fails, the outcome is `judge_error` and the value None: a judge's failure is
    never an agent's mistake. Raises JudgeFailed when no answer can be judged.
    """
    waiting: deque[AnswerRecord] = deque()

    def items() -> Iterator[JudgeItem]:
        for answer in answers:
            waiting.append(answer)
            if answer.answer is not None and _settled(answer, scorer.identity) is None:
                yield JudgeItem(
                    execution_id=answer.execution_id,
                    question=answer.question,
                    golden=answer.golden,
                    answer=answer.answer,
                )

    def settled() -> Iterator[ScoreRecord]:
        while waiting and (score := _settled(waiting[0], scorer.identity)) is not None:
            waiting.popleft()
            yield score

    for _, verdict in scorer.score(items()):
        yield from settled()
        yield _judged(waiting.popleft(), verdict, scorer.identity)
    yield from settled()


def is_blank(text: str) -> bool:
    """True for text without anything to see: empty, white space, and characters that only format or control."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in text)


def _settled(answer: AnswerRecord, identity: JudgeIdentity) -> ScoreRecord | None:
    """Return the score of what needs no judge; None for an answer to be judged."""
    if answer.error is not None or answer.answer is None:
        kind = answer.error.kind if answer.error else "bad_answer"
        return _score(
            answer, identity, Verdict(label=None, reason=f"There is no answer: {kind}."), outcome="agent_error"
        )
    if is_blank(answer.answer):
        return _judged(answer, Verdict(label="not_attempted", reason="The answer is empty."), identity)
    return None


def _judged(answer: AnswerRecord, verdict: Verdict, identity: JudgeIdentity) -> ScoreRecord:
    return _score(answer, identity, verdict, outcome=verdict.label or "judge_error")


def _score(answer: AnswerRecord, identity: JudgeIdentity, verdict: Verdict, *, outcome: Outcome) -> ScoreRecord:
    return ScoreRecord(
        run_id=answer.run_id,
        id=answer.id,
        value=None if outcome == "judge_error" else float(outcome == "correct"),
        method=verdict.method or identity.method,
        reason=verdict.reason,
        label=verdict.label,
        repetition=answer.repetition,
        execution_id=answer.execution_id,
        outcome=outcome,
        judge=identity.digest,
        cached=verdict.cached,
        error=verdict.error,
        votes=verdict.votes,
        flags=verdict.flags,
        replies=verdict.replies,
        calls=verdict.calls,
        usage=verdict.usage,
    )
