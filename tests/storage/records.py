"""Records for the tests of storage: valid ones, with what a test is about changed."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from bench_assets.contracts.answer import AnswerRecord, Attempt, ErrorInfo
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.environment import EnvironmentRecord, ResolvedSource
from bench_assets.contracts.outcome import OUTCOMES, Outcome
from bench_assets.contracts.plan import Selection
from bench_assets.contracts.run import Interval, Latency, RunRecord, Summary
from bench_assets.contracts.score import JudgeIdentity, ScoreRecord
from bench_assets.storage.postgres.rows import ExecutionRow, execution_row

RUN_ID = "20260518-154501-a1b2c3d4"
STARTED = "2026-05-18T15:45:01.123456+00:00"
JUDGE = JudgeIdentity(method="exact_match", settings={}, scorer_version=1, digest="0123456789abcdef")


def run_record(**changes: Any) -> RunRecord:
    """Return a finished run's record."""
    source = ResolvedSource(kind="git", text="git+https://git.example.org/t/a.git@v1", requirement="a", commit="c" * 40)
    environment = EnvironmentRecord(
        candidate="kg@v1",
        fingerprint="f" * 64,
        source=source,
        worker=source,
        entry_point="agent",
        python="3.11.7",
        platform="linux-x86_64",
        lock="",
        lock_digest="0" * 64,
        package_count=3,
        built_at=STARTED,
        build_seconds=1.5,
    )
    fields: dict[str, Any] = {
        "run_id": RUN_ID,
        "status": "finished",
        "start_time": STARTED,
        "finish_time": "2026-05-18T15:55:01.123456+00:00",
        "candidate": "kg@v1",
        "benchmark": "rusimpleqa@1.0",
        "dataset": "dataset.jsonl",
        "description": "",
        "agent_source": source.text,
        "agent_entry_point": "agent",
        "agent_import_path": None,
        "agent_extra_deps": [],
        "worker_source": "worker",
        "commit": source.commit,
        "dirty": None,
        "timeout": 300.0,
        "worker_ready_timeout": 120.0,
        "limit": None,
        "sample": None,
        "seed": 0,
        "repeats": 1,
        "parallelism": 4,
        "retries": 1,
        "retry_backoff_sec": 1.0,
        "checkpoint_dir": "/tmp/checkpoints",
        "checkpoint_flush_every": 50,
        "resume": False,
        "selection": Selection(questions=3),
        "policy": ExecutionPolicy(),
        "plan_identity": "1" * 64,
        "dataset_digest": "2" * 64,
        "spec_digest": "3" * 64,
        "total_rows": 3,
        "environment": environment,
        "describe": {"model": "m-1"},
        "kwargs": {},
        "agent_env": [],
        "env_overrides": {},
        "judge_identity": JUDGE,
        "scorer": "exact_match/1",
        "bench_assets_version": "0.1.0",
        "bench_assets_commit": None,
    }
    return RunRecord(**fields | changes)


def summary(*outcomes: Outcome, partial: bool = False) -> Summary:
    """Return the figures of executions that ended in `outcomes`; three correct ones when none are given."""
    ended = outcomes or ("correct", "correct", "correct")
    counts = {outcome: ended.count(outcome) for outcome in OUTCOMES}
    total, correct = len(ended), counts["correct"]
    attempted = correct + counts["incorrect"]
    errors = counts["agent_error"] + counts["judge_error"] + counts["missing"]
    return Summary(
        total=total,
        attempted=attempted,
        correct=correct,
        accuracy=correct / total,
        avg_score=correct / total,
        precision=correct / attempted if attempted else None,
        recall=correct / total,
        f1=0.7794871794871795,
        judged=not counts["judge_error"] and not counts["missing"],
        questions=total,
        executions=total,
        repetitions=1,
        outcomes=counts,
        errors=errors,
        error_kinds={},
        coverage=(total - errors) / total,
        accuracy_low=correct / total,
        accuracy_high=(correct + errors) / total,
        stderr=0.1,
        interval=Interval(low=0.1, high=0.9),
        latency_ms=Latency(p50=1.5, p90=2.0, p99=3.0, max=3.0),
        partial=partial,
    )


def execution(question_id: str, outcome: Outcome = "correct", **changes: Any) -> ExecutionRow:
    """Return the row of one execution that ended in `outcome`."""
    answer = answer_record(question_id, **({"answer": None, "error": ERROR} if outcome == "agent_error" else {}))
    return execution_row(answer, score_record(question_id, outcome))._replace(**changes)


ERROR = ErrorInfo(kind="timeout", message="no answer within 300 s", limit="timeout_sec=300")


def executions(*outcomes: Outcome) -> Iterator[ExecutionRow]:
    """Yield the rows of `q1`, `q2`, …, for the same outcomes as `summary`."""
    for number, outcome in enumerate(outcomes or ("correct", "correct", "correct"), start=1):
        yield execution(f"q{number}", outcome)


def answer_record(question_id: str, **changes: Any) -> AnswerRecord:
    """Return an answer."""
    attempt = Attempt(number=1, cause="answered", duration_ms=842, worker="000-1", started_at=STARTED)
    fields: dict[str, Any] = {
        "execution_id": _execution_id(question_id),
        "id": question_id,
        "repetition": 1,
        "answer": "4",
        "duration_ms": 842,
        "attempt": 1,
        "attempts": [attempt],
        "started_at": STARTED,
        "question": "2+2?",
        "golden": "4",
    }
    return AnswerRecord(**fields | changes)


def score_record(question_id: str, outcome: Outcome = "correct", **changes: Any) -> ScoreRecord:
    """Return a score that ended in `outcome`."""
    judged = outcome in {"correct", "incorrect", "not_attempted"}
    fields: dict[str, Any] = {
        "id": question_id,
        "value": float(outcome == "correct") if judged else None,
        "method": "exact_match",
        "reason": "",
        "label": outcome if judged else None,
        "repetition": 1,
        "execution_id": _execution_id(question_id),
        "outcome": outcome,
        "judge": JUDGE.digest,
    }
    return ScoreRecord(**fields | changes)


def _execution_id(question_id: str) -> str:
    return sha256(question_id.encode("utf-8", "surrogatepass")).hexdigest()
