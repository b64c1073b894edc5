"""Step 5: the summary, and the finished bundle of files."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from bench_assets.analysis.judging import JudgingCounts
from bench_assets.analysis.metrics import summarize
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.base import JsonValue, dump_json
from bench_assets.contracts.plan import Plan, RunStatus
from bench_assets.contracts.run import FinishedRun, RunRecord
from bench_assets.contracts.score import JudgeIdentity, ScoreRecord
from bench_assets.errors import ObjectMissing, StorageFailed
from bench_assets.stages.calibration import judging_figures
from bench_assets.stages.checkpoints import note_status
from bench_assets.stages.provenance import run_record
from bench_assets.stages.records import RecordFile
from bench_assets.stages.scores import judge_of, of_run
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle

Shards = Mapping[str, Iterable[AnswerRecord]]
ScoredShards = Mapping[str, Iterable[ScoreRecord]]


def finish_run(
    workspace: Workspace, plan: Plan, *, answers: Shards, scores: ScoredShards, dagster_run_id: str | None = None
) -> FinishedRun:
    """Sum a run up and write its bundle to `runs/<run_id>/`.

    `answers` and `scores` map a shard's partition key to its records. Raises StorageFailed when they do not belong
    together, and RunConflict when the run_id's bundle is that of another run.
    """
    identities: set[str] = set()
    counts = JudgingCounts()
    summary = summarize(
        ((answer, counts.add(score)) for answer, score in _pairs(plan, answers, scores, identities)),
        questions=plan.selection.questions,
        repetitions=plan.selection.repetitions,
        partial=plan.selection.questions < plan.total_rows,
    )
    summary = summary.model_copy(update={"judging": judging_figures(workspace, judge_of(workspace, plan), counts)})
    run = run_record(
        workspace,
        plan,
        status="checkpoint" if summary.outcomes.get("missing") else "finished",
        describe=_describe(workspace, plan),
        judge_identity=_identity(workspace, plan, identities),
        dagster_run_ids=[item for item in (plan.dagster_run_id, dagster_run_id) if item],
    )
    bundle = RunBundle(workspace.store, plan.run_id)
    bundle.write(
        run,
        {
            "answers.jsonl": _lines(answers),
            "scores.jsonl": _lines(scores),
            "summary.json": _pretty(summary.to_json()),
            "environment.lock": plan.environment.lock.encode(),
        },
    )
    note_status(workspace, plan, "finished" if not summary.outcomes.get("missing") else "checkpoint")
    return FinishedRun(
        run_id=plan.run_id, candidate=plan.candidate, benchmark=plan.benchmark, folder=bundle.url, summary=summary
    )


def keep_unfinished(
    workspace: Workspace, plan: Plan, *, answers: Iterable[AnswerRecord], status: RunStatus
) -> RunRecord:
    """Write what there is of a run that was stopped, or whose judge is still to come, without any figure.

    Its answers, its lock, and a run.json that says how it stands. Raises RunConflict when the run is finished already.
    """
    run = run_record(
        workspace,
        plan,
        status=status,
        describe=_describe(workspace, plan),
        judge_identity=None,
        dagster_run_ids=[plan.dagster_run_id] if plan.dagster_run_id else [],
    )
    files: dict[str, bytes | Iterable[bytes]] = {
        "answers.jsonl": (answer.to_line() for answer in answers),
        "environment.lock": plan.environment.lock.encode(),
    }
    RunBundle(workspace.store, plan.run_id).write(run, files)
    return run


def _pairs(
    plan: Plan, answers: Shards, scores: ScoredShards, identities: set[str]
) -> Iterator[tuple[AnswerRecord, ScoreRecord]]:
    for partition in sorted(answers):
        try:
            pairs = zip(of_run(plan, answers[partition]), of_run(plan, scores[partition]), strict=True)
            for answer, score in pairs:
                if answer.execution_id != score.execution_id:
                    raise ValueError(f"`{score.execution_id}` scores another answer")
                identities.add(score.judge)
                yield answer, score
        except (ValueError, KeyError) as error:
            raise StorageFailed(
                f"the scores of `{partition}` do not belong to its answers ({error}). Materialize `scores` again."
            ) from error


def _identity(workspace: Workspace, plan: Plan, identities: set[str]) -> JudgeIdentity | None:
    """Return the identity behind the scores. Raises StorageFailed when several judges scored one run."""
    if not identities:
        return None
    identity = judge_of(workspace, plan).identity
    if identities != {identity.digest}:
        raise StorageFailed(
            f"the scores of run {plan.run_id} are not all from the judge that is set now ({identity.digest}), but from "
            f"{', '.join(sorted(identities))}. Materialize all shards of `scores` again with one judge."
        )
    return identity


def _describe(workspace: Workspace, plan: Plan) -> dict[str, JsonValue] | None:
    try:
        seen = json.loads(workspace.store.read(f"checkpoints/{plan.run_id}/agent.json"))
    except ObjectMissing:
        return None
    describe: dict[str, JsonValue] | None = seen["describe"]
    return describe


def _lines(shards: Mapping[str, Iterable[AnswerRecord] | Iterable[ScoreRecord]]) -> Iterator[bytes]:
    """Yield a file's lines; a stored shard's are passed on without being read and written anew."""
    return chain.from_iterable(_shard_lines(shards[partition]) for partition in sorted(shards))


def _shard_lines(records: Iterable[AnswerRecord] | Iterable[ScoreRecord]) -> Iterator[bytes]:
    if isinstance(records, RecordFile):
        return (line + b"\n" for line in records.store.lines(records.key))
    return (record.to_line() for record in records)


def _pretty(value: JsonValue) -> bytes:
    json.loads(dump_json(value))
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"
