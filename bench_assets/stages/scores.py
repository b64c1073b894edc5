"""Step 4: the scores."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.plan import Plan
from bench_assets.contracts.score import ScoreRecord
from bench_assets.errors import StorageFailed
from bench_assets.judging.kept.stored import StoredVerdicts
from bench_assets.judging.scorer import Scorer, open_scorer, score_answers
from bench_assets.judging.settings import EffectiveJudge, effective_judge
from bench_assets.planning.questions import shard_size
from bench_assets.stages.workspace import Workspace

Row = TypeVar("Row", AnswerRecord, ScoreRecord)


def judge_of(workspace: Workspace, plan: Plan) -> EffectiveJudge:
    """Return the judge in force for a plan, with or without its key. Raises InvalidJudge for impossible settings."""
    return effective_judge(plan.judge, environ=workspace.environ, need_key=False, folder=workspace.project.folder)


@contextmanager
def scorer_of(workspace: Workspace, plan: Plan, *, verdict_cache: bool = True) -> Iterator[Scorer]:
    """Open the scorer of a plan for as long as the block lasts. Raises InvalidJudge when it cannot judge.

    With `verdict_cache` an LLM judge's verdicts are kept in `<root>/verdicts/` and found there again; without it every
    answer is judged anew and nothing is kept, which shows how much the judge itself wavers.
    """
    judge = effective_judge(plan.judge, environ=workspace.environ, folder=workspace.project.folder)
    with open_judge(workspace, judge, verdict_cache=verdict_cache) as scorer:
        yield scorer


@contextmanager
def open_judge(workspace: Workspace, judge: EffectiveJudge, *, verdict_cache: bool = True) -> Iterator[Scorer]:
    """Open the scorer of a judge for as long as the block lasts; see `scorer_of`."""
    with ExitStack() as opened:
        verdicts = None
        if verdict_cache and judge.asks_a_model:
            verdicts = opened.enter_context(StoredVerdicts(workspace.store))
        yield opened.enter_context(open_scorer(judge, verdicts=verdicts))


def score_shard(
    workspace: Workspace, plan: Plan, *, shard: str, answers: Iterable[AnswerRecord], scorer: Scorer
) -> Iterator[ScoreRecord]:
    """Yield one score an answer, in the answers' order, telling the reporter how far it is.

    Raises StorageFailed for answers of another run than the plan's.
    """
    reporter = workspace.reporter
    reporter.start(f"judging {plan.candidate} on {plan.benchmark}, shard {shard}", total=shard_size(plan, shard=shard))
    try:
        correct = 0
        for done, score in enumerate(score_answers(of_run(plan, answers), scorer), start=1):
            correct += score.label == "correct"
            reporter.advance(done, note=f"{correct} correct")
            yield score
    finally:
        reporter.finish()


def of_run(plan: Plan, records: Iterable[Row]) -> Iterator[Row]:
    """Yield answers or scores, sure that they belong to the plan's run. Raises StorageFailed when they do not."""
    for record in records:
        if record.run_id != plan.run_id:
            raise StorageFailed(
                f"the plan of `{plan.candidate}` on {plan.benchmark} is that of run {plan.run_id}, but what is stored "
                f"of question `{record.id}` is from run {record.run_id}. Materialize `answers`, then `scores`, again."
            )
        yield record
