"""A second judge over a run's kept answers: its scores lie beside the run's own, which stay as they are."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from bench_assets import __version__
from bench_assets.analysis.judging import JudgingCounts, label_changes
from bench_assets.analysis.metrics import summarize
from bench_assets.contracts.base import JsonValue, Record
from bench_assets.contracts.judging import LabelChange, Scoring
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.contracts.score import ScoreRecord
from bench_assets.errors import InvalidInput, ObjectMissing
from bench_assets.judging.scorer import score_answers
from bench_assets.judging.settings import EffectiveJudge
from bench_assets.planning.plan import timestamp
from bench_assets.stages.calibration import judging_figures
from bench_assets.stages.records import AnswerFile, ScoreFile
from bench_assets.stages.scores import open_judge
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle
from bench_assets.storage.keys import check_key

OWN = "own"
"""Names the scoring that a run was finished with."""


@dataclass(frozen=True)
class Rescored:
    """What scoring a run again came to."""

    scoring: Scoring
    summary: Summary
    folder: str
    """Where its files lie."""
    how: Literal["stored", "unchanged"]
    """`unchanged`: this judge had scored the run before, completely."""


def rescore(workspace: Workspace, judge: EffectiveJudge, *, run_id: str, verdict_cache: bool = True) -> Rescored:
    """Have a judge score the kept answers of a run, and keep that in `scorings/<run_id>/<judge>/`. Nothing is asked.

    A complete scoring by the same judge is kept as it is; one with judge errors is made anew (kept verdicts cost
    nothing). Raises InvalidInput for a run that is not there or that this judge has scored itself, InvalidJudge and
    JudgeFailed for a judge that cannot judge.
    """
    run = run_of(workspace, run_id)
    if run.judge_identity is not None and run.judge_identity.digest == judge.identity.digest:
        raise InvalidInput(
            f"Run `{run_id}` was scored by this very judge ({judge.identity.digest}). Choose another one: change the "
            "benchmark's judge, or set BENCH_LLM_JUDGE_KWARGS."
        )
    folder = _folder(run_id, judge.identity.digest)
    before = _scoring(workspace, folder)
    if before is not None and before.complete:
        key = f"{folder}/summary.json"
        summary = Summary.from_json(json.loads(workspace.store.read(key)), source=workspace.store.url(key))
        return Rescored(before, summary, workspace.store.url(folder), "unchanged")
    counts = JudgingCounts()
    scores = list(_scored(workspace, judge, run, counts, verdict_cache=verdict_cache))
    answers = AnswerFile(workspace.store, f"runs/{run_id}/answers.jsonl")
    summary = summarize(
        zip(answers, scores, strict=True),
        questions=run.selection.questions,
        repetitions=run.selection.repetitions,
        partial=run.selection.questions < run.total_rows,
    ).model_copy(update={"judging": judging_figures(workspace, judge, counts)})
    scoring = Scoring(
        run_id=run_id,
        judge=judge.identity,
        settings=judge.redacted(),
        created_at=timestamp(),
        complete=summary.judged,
        bench_assets_version=__version__,
        notes=[] if summary.judged else ["Some answers have no verdict by this judge: score again to complete it."],
    )
    store = workspace.store
    store.write(f"{folder}/scores.jsonl", (score.to_line() for score in scores))
    store.write(f"{folder}/summary.json", _pretty(summary))
    store.write(f"{folder}/scoring.json", _pretty(scoring))  # last: a folder without it is an unfinished one
    return Rescored(scoring, summary, store.url(folder), "stored")


def scorings(workspace: Workspace, run_id: str) -> list[Scoring]:
    """Return the further scorings of a run, oldest first. Raises InvalidInput for a run that is not there."""
    run_of(workspace, run_id)
    keys = workspace.store.list(f"scorings/{check_key(run_id)}/")
    folders = [key.removesuffix("/scoring.json") for key in keys if key.endswith("/scoring.json")]
    found = [scoring for folder in folders if (scoring := _scoring(workspace, folder)) is not None]
    return sorted(found, key=lambda scoring: scoring.created_at)


def changes(workspace: Workspace, run_id: str, *, before: str = OWN, after: str | None = None) -> list[LabelChange]:
    """Return the executions that two scorings of a run label differently.

    `before` and `after` are `own` for the run's own scoring, or (the beginning of) the digest of a judge; `after=None`
    means the newest further scoring. Raises InvalidInput for a scoring that is not there.
    """
    if after is None:
        further = scorings(workspace, run_id)
        if not further:
            raise InvalidInput(
                f"Run `{run_id}` has only its own scoring. Score it with another judge first: "
                f"bench-assets judge rescore {run_id}"
            )
        after = further[-1].judge.digest
    return list(label_changes(scores_of(workspace, run_id, before), scores_of(workspace, run_id, after)))


def scores_of(workspace: Workspace, run_id: str, judge: str) -> Iterable[ScoreRecord]:
    """Return the scores of a run by a judge: `own`, or (the beginning of) a digest. Raises InvalidInput."""
    run = run_of(workspace, run_id)
    own = run.judge_identity.digest if run.judge_identity else ""
    known = {scoring.judge.digest for scoring in scorings(workspace, run_id)} | ({own} if own else set())
    wanted = own if judge == OWN else judge
    matching = sorted(digest for digest in known if wanted and digest.startswith(wanted))
    if len(matching) != 1:
        listed = ", ".join(f"`{digest}`" for digest in sorted(known)) or "none"
        raise InvalidInput(f"Run `{run_id}` has no one scoring `{judge}`; it has {listed}.")
    if matching[0] == own:
        return ScoreFile(workspace.store, f"runs/{run_id}/scores.jsonl")
    return ScoreFile(workspace.store, f"{_folder(run_id, matching[0])}/scores.jsonl")


def run_of(workspace: Workspace, run_id: str) -> RunRecord:
    """Return the run.json of a run. Raises InvalidInput when there is none."""
    run = RunBundle(workspace.store, run_id).run()
    if run is None:
        raise InvalidInput(f"There is no run `{run_id}` in {workspace.store.url('runs')}.")
    return run


def _scored(
    workspace: Workspace, judge: EffectiveJudge, run: RunRecord, counts: JudgingCounts, *, verdict_cache: bool
) -> Iterator[ScoreRecord]:
    answers = AnswerFile(workspace.store, f"runs/{run.run_id}/answers.jsonl")
    title = f"judging run {run.run_id} with {judge.spec.model or judge.spec.type}"
    workspace.reporter.start(title, total=run.selection.executions)
    try:
        with open_judge(workspace, judge, verdict_cache=verdict_cache) as scorer:
            for done, score in enumerate(score_answers(answers, scorer), start=1):
                workspace.reporter.advance(done)
                yield counts.add(score)
    finally:
        workspace.reporter.finish()


def _folder(run_id: str, judge: str) -> str:
    return f"scorings/{check_key(run_id)}/{judge}"


def _scoring(workspace: Workspace, folder: str) -> Scoring | None:
    key = f"{folder}/scoring.json"
    try:
        found: JsonValue = json.loads(workspace.store.read(key))
    except ObjectMissing:
        return None
    return Scoring.from_json(found, source=workspace.store.url(key))


def _pretty(record: Record) -> bytes:
    return json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"
