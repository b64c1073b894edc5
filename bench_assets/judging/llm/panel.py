"""Several LLM judges on each answer."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import tee

from bench_assets.contracts.score import JudgeIdentity, Verdict
from bench_assets.judging.llm.voting import decided
from bench_assets.judging.scorer import JudgeItem, Scorer


class PanelScorer(Scorer):
    """Asks each judge of a panel once, all of them at the same time. Each keeps its verdicts under its own identity."""

    def __init__(self, judges: Sequence[Scorer], identity: JudgeIdentity) -> None:
        """The judges are closed with the panel."""
        self.identity = identity
        self._judges = tuple(judges)

    def score(self, items: Iterable[JudgeItem]) -> Iterator[tuple[JudgeItem, Verdict]]:
        """Yield each item with the panel's verdict, in order. Raises JudgeFailed when one judge cannot be asked."""
        streams = tee(items, len(self._judges))
        scored = [judge.score(stream) for judge, stream in zip(self._judges, streams, strict=True)]
        digests = [judge.identity.digest for judge in self._judges]
        for judged in zip(*scored, strict=True):
            verdicts = [verdict for _, verdict in judged]
            yield judged[0][0], decided(verdicts, judges=digests, of=len(verdicts))

    def close(self) -> None:
        """Close every judge."""
        for judge in self._judges:
            judge.close()
