"""A chain: matchers first, and what none of them settles goes to the last scorer."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench_assets.contracts.outcome import Label
from bench_assets.contracts.score import JudgeIdentity, Verdict
from bench_assets.judging.matching import MatcherScorer
from bench_assets.judging.scorer import JudgeItem, Scorer


@dataclass(frozen=True)
class Step:
    """A matcher with the labels that it settles."""

    matcher: MatcherScorer
    settles: frozenset[Label]


class ChainScorer(Scorer):
    """Tries matchers in order, then asks the last scorer. A matcher that fails settles nothing."""

    def __init__(self, steps: Sequence[Step], last: Scorer, identity: JudgeIdentity) -> None:
        """All of them are closed with the chain."""
        self.identity = identity
        self._steps = tuple(steps)
        self._last = last

    def score(self, items: Iterable[JudgeItem]) -> Iterator[tuple[JudgeItem, Verdict]]:
        """Yield each item with its verdict, in order."""
        waiting: deque[tuple[JudgeItem, Verdict | None]] = deque()

        def unsettled() -> Iterator[JudgeItem]:
            for item in items:
                verdict = self._settled(item)
                waiting.append((item, verdict))
                if verdict is None:
                    yield item

        def settled() -> Iterator[tuple[JudgeItem, Verdict]]:
            while waiting and (verdict := waiting[0][1]) is not None:
                yield waiting.popleft()[0], verdict

        for item, verdict in self._last.score(unsettled()):
            yield from settled()
            waiting.popleft()
            yield item, verdict
        yield from settled()

    def close(self) -> None:
        """Close every step and the last scorer."""
        for step in self._steps:
            step.matcher.close()
        self._last.close()

    def _settled(self, item: JudgeItem) -> Verdict | None:
        for step in self._steps:
            verdict = step.matcher.verdict(item)
            if verdict.label in step.settles:
                return verdict.model_copy(update={"method": step.matcher.identity.method})
        return None
