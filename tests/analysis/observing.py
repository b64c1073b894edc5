"""Makers of finished runs from outcomes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_assets.analysis.metrics import summarize
from bench_assets.analysis.runs import ObservedRun, observe_run
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.environment import EnvironmentRecord, ResolvedSource
from bench_assets.contracts.outcome import Outcome
from bench_assets.contracts.plan import Selection
from bench_assets.contracts.run import RunRecord
from bench_assets.contracts.score import JudgeIdentity, ScoreRecord
from tests.analysis.making import pair

Outcomes = Mapping[str, Outcome | Sequence[Outcome]]

JUDGE = JudgeIdentity(method="exact_match", settings={"ignore_case": True}, scorer_version=1, digest="0" * 16)


def environment(candidate: str, **changes: Any) -> EnvironmentRecord:
    source = ResolvedSource(kind="git", text="git+https://example.org/kg", requirement="kg @ abc", commit="a" * 40)
    fields = {
        "candidate": candidate,
        "fingerprint": "f" * 64,
        "source": source,
        "worker": ResolvedSource(kind="local", text="worker", requirement="worker", tree="t" * 64),
        "entry_point": "agent",
        "python": "3.11.7",
        "platform": "linux-x86_64",
        "lock": "",
        "lock_digest": "1" * 64,
        "package_count": 3,
        "built_at": "2026-01-01T00:00:00.000000+00:00",
        "build_seconds": 1.0,
    }
    return EnvironmentRecord(**{**fields, **changes})


def run_record(candidate: str = "kg@v1", **changes: Any) -> RunRecord:
    """A finished run.json; `changes` replaces its fields."""
    policy = changes.pop("policy", ExecutionPolicy())
    selection = changes.pop("selection", Selection(questions=1))
    fields = {
        "run_id": f"run-{candidate}",
        "status": "finished",
        "start_time": "2026-01-01T00:00:00.000000+00:00",
        "finish_time": "2026-01-01T01:00:00.000000+00:00",
        "candidate": candidate,
        "benchmark": "facts@1.0",
        "dataset": "dataset.jsonl",
        "description": "",
        "agent_source": "git+https://example.org/kg",
        "agent_entry_point": "agent",
        "agent_import_path": None,
        "agent_extra_deps": [],
        "worker_source": "worker",
        "commit": "a" * 40,
        "dirty": False,
        "timeout": policy.timeout_sec,
        "worker_ready_timeout": policy.worker_ready_timeout_sec,
        "limit": selection.limit,
        "sample": selection.sample,
        "seed": selection.seed,
        "repeats": selection.repetitions,
        "parallelism": policy.parallelism,
        "retries": policy.retries,
        "retry_backoff_sec": policy.retry_backoff_sec,
        "checkpoint_dir": "checkpoints",
        "checkpoint_flush_every": 50,
        "resume": False,
        "selection": selection,
        "policy": policy,
        "plan_identity": "p" * 64,
        "dataset_digest": "d" * 64,
        "spec_digest": "s" * 64,
        "total_rows": selection.questions,
        "environment": environment(candidate),
        "describe": None,
        "kwargs": {},
        "agent_env": [],
        "env_overrides": {},
        "judge_identity": JUDGE,
        "scorer": "exact_match",
        "bench_assets_version": "0.1.0",
        "bench_assets_commit": None,
    }
    return RunRecord(**{**fields, **changes})


def records(
    outcomes: Outcomes,
    *,
    texts: Mapping[str, str] | None = None,
    goldens: Mapping[str, str] | None = None,
    answers: Mapping[str, str] | None = None,
    durations: Mapping[str, int] | None = None,
    usage: Mapping[str, dict[str, Any]] | None = None,
) -> tuple[list[AnswerRecord], list[ScoreRecord]]:
    """Answers and scores, one each for every outcome that is not `missing`."""
    said: list[AnswerRecord] = []
    scored: list[ScoreRecord] = []
    for id_, of in outcomes.items():
        for repetition, outcome in enumerate([of] if isinstance(of, str) else of, start=1):
            if outcome == "missing":
                continue
            answer, score = pair(outcome, id=id_, repetition=repetition, duration_ms=(durations or {}).get(id_, 10))
            changes = {
                "question": (texts or {}).get(id_, f"What is {id_}?"),
                "golden": (goldens or {}).get(id_, "golden"),
                "usage": (usage or {}).get(id_),
            }
            if answer.answer is not None:
                changes["answer"] = (answers or {}).get(id_, f"answer {repetition}")
            said.append(answer.model_copy(update=changes))
            scored.append(score.model_copy(update={"reason": f"because of {outcome}"}))
    return said, scored


def observed(
    outcomes: Outcomes,
    candidate: str = "kg@v1",
    *,
    meta: Mapping[str, Mapping[str, Any]] | None = None,
    run: Mapping[str, Any] | None = None,
    questions: int | None = None,
    ids: list[str] | None = None,
    **made: Any,
) -> ObservedRun:
    """A finished run with these outcomes; `questions` planned, or as many as there are."""
    repetitions = max((1 if isinstance(of, str) else len(of) for of in outcomes.values()), default=1)
    said, scored = records(outcomes, **made)
    planned = len(outcomes) if questions is None else questions
    selection = Selection(questions=planned, repetitions=repetitions, ids=ids)
    summary = summarize(
        zip(said, scored, strict=True), questions=planned, repetitions=repetitions, partial=ids is not None
    )
    record = run_record(candidate, **{"selection": selection, **(run or {})})
    return observe_run(record, summary, answers=said, scores=scored[::-1], meta=meta)


def numbered(counts: Iterable[tuple[Outcome, int]]) -> dict[str, Outcome]:
    """Questions q0, q1, … with so many of each outcome, in this order."""
    outcomes = [outcome for outcome, count in counts for _ in range(count)]
    return {f"q{number}": outcome for number, outcome in enumerate(outcomes)}
