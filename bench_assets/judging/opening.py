"""Puts a scorer together from what its judge has: a matcher, a model or a panel of them, a chain before it."""

from bench_assets.judging.chain import ChainScorer, Step
from bench_assets.judging.llm.budget import Budget
from bench_assets.judging.llm.panel import PanelScorer
from bench_assets.judging.llm.scorer import LlmScorer
from bench_assets.judging.matching import MatcherScorer
from bench_assets.judging.scorer import Scorer
from bench_assets.judging.settings import EffectiveJudge, MatcherInForce
from bench_assets.judging.verdicts import VerdictStore


def scorer_in_force(judge: EffectiveJudge, *, verdicts: VerdictStore | None) -> Scorer:
    """Return the scorer of a judge that has its keys."""
    last = _last(judge, verdicts=verdicts)
    if not judge.steps:
        return last
    return ChainScorer([Step(_matcher(step), step.settles) for step in judge.steps], last, judge.identity)


def _last(judge: EffectiveJudge, *, verdicts: VerdictStore | None) -> Scorer:
    if judge.matcher is not None:
        return _matcher(judge.matcher)
    budget = Budget(judge.spec)
    if not judge.panel:
        return _llm(judge, verdicts=verdicts, budget=budget)
    return PanelScorer([_llm(member, verdicts=verdicts, budget=budget) for member in judge.panel], judge.own)


def _llm(judge: EffectiveJudge, *, verdicts: VerdictStore | None, budget: Budget) -> LlmScorer:
    assert judge.endpoint is not None
    return LlmScorer(judge.spec, judge.endpoint, judge.own, verdicts=verdicts, budget=budget)


def _matcher(matcher: MatcherInForce) -> MatcherScorer:
    return MatcherScorer(matcher.spec, matcher.identity, function=matcher.function)
