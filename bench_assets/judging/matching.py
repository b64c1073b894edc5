"""The matchers as a scorer."""

from collections.abc import Iterable, Iterator

from bench_assets.contracts.benchmark import JudgeSpec
from bench_assets.contracts.score import JudgeIdentity, ScoreError, Verdict
from bench_assets.judging.matchers import golden_fault, match
from bench_assets.judging.regexes import RegexSearcher, SearchTooLong
from bench_assets.judging.scorer import JudgeItem, Scorer


class MatcherScorer(Scorer):
    """Scores without a model."""

    def __init__(self, spec: JudgeSpec, identity: JudgeIdentity, *, searcher: RegexSearcher | None = None) -> None:
        """`searcher` is for `regex`; None makes one with the usual time limit."""
        self.identity = identity
        self._spec = spec
        self._searcher = searcher or RegexSearcher()

    def score(self, items: Iterable[JudgeItem]) -> Iterator[tuple[JudgeItem, Verdict]]:
        """Yield each item with its verdict, in order, one at a time."""
        return ((item, self._verdict(item)) for item in items)

    def close(self) -> None:
        """End the process that searches, if one was started."""
        self._searcher.close()

    def _verdict(self, item: JudgeItem) -> Verdict:
        fault = golden_fault(item.golden, self._spec)
        if fault is not None:
            return _failed("bad_golden", f"Nothing can match: {fault}.")
        try:
            found = match(item.golden, item.answer, self._spec, search=self._searcher.search)
        except SearchTooLong as error:
            return _failed("regex_timeout", f"The golden's regular expression gave no result: {error}.")
        return Verdict(label=found.label, reason=found.reason)


def _failed(code: str, message: str) -> Verdict:
    return Verdict(label=None, error=ScoreError(code=code, message=message))
