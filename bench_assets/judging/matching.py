"""The matchers as a scorer."""

from collections.abc import Iterable, Iterator

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.score import JudgeIdentity, ScoreError, Verdict
from bench_assets.judging.functions import FunctionCaller, FunctionFailed, MatcherFunction
from bench_assets.judging.matchers import Match, golden_fault, match, refusal
from bench_assets.judging.regexes import RegexSearcher, SearchTooLong
from bench_assets.judging.scorer import JudgeItem, Scorer


class MatcherScorer(Scorer):
    """Scores without a model."""

    def __init__(
        self,
        spec: JudgeSpec,
        identity: JudgeIdentity,
        *,
        function: MatcherFunction | None = None,
        searcher: RegexSearcher | None = None,
    ) -> None:
        """`function` is that of `python`. `searcher` searches for expressions; None makes one with the usual limit."""
        self.identity = identity
        self._spec = spec
        self._caller = FunctionCaller(function) if function is not None else None
        self._searcher = searcher or RegexSearcher()

    def score(self, items: Iterable[JudgeItem]) -> Iterator[tuple[JudgeItem, Verdict]]:
        """Yield each item with its verdict, in order, one at a time."""
        return ((item, self.verdict(item)) for item in items)

    def close(self) -> None:
        """End the processes that search and call, if any was started."""
        self._searcher.close()
        if self._caller is not None:
            self._caller.close()

    def verdict(self, item: JudgeItem) -> Verdict:
        """Return the verdict on one item, or one without a label that says why."""
        fault = golden_fault(item.golden, self._spec)
        if fault is not None:
            return _failed("bad_golden", f"Nothing can match: {fault}.")
        try:
            found = self._found(item)
            if found is None:
                return _failed("undecided", "The matcher's function cannot tell (it returned None).")
        except SearchTooLong as error:
            return _failed("regex_timeout", f"A regular expression gave no result: {error}.")
        except FunctionFailed as error:
            return _failed("matcher_error", f"The matcher `{self._spec.function}` gave no label: {error}.")
        return Verdict(label=found.label, reason=found.reason)

    def _found(self, item: JudgeItem) -> Match | None:
        if self._caller is None:
            return match(item.golden, item.answer, self._spec, search=self._searcher.search)
        called = self._caller.call(question=item.question, golden=item.golden, answer=item.answer)
        if called is None:
            return None
        return refusal(Match(*called), item.answer, self._spec, search=self._searcher.search)


def _failed(code: str, message: str) -> Verdict:
    return Verdict(label=None, error=ScoreError(code=code, message=message))
