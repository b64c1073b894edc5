"""The tables, as this release reads and writes them. The migrations make them; a test holds the two against each other.

`runs` has one row a run, `run_metrics` one with its figures, `executions` one for each planned (question, repetition).
`transitions` and `gates` hold comparisons of a run with its baseline; `gates.baseline_run_id` is empty for a decision
without one. Columns whose names SQL reserves are renamed:
`limit` is `row_limit`.

Text is stored as it is, but for what Postgres cannot hold: NUL characters and lone surrogates become U+FFFD.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Numeric,
    Table,
    Text,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData()


def _run_id(*, primary_key: bool) -> Column[str]:
    return Column(
        "run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=primary_key, nullable=False
    )


def _needed(name: str, kind: type) -> Column[object]:
    return Column(name, kind, nullable=False)


runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    _needed("status", Text),
    _needed("benchmark", Text),
    _needed("candidate", Text),
    _needed("agent", Text),
    Column("ref", Text),
    Column("variant", Text),
    Column("start_time", DateTime(timezone=True), nullable=False),
    Column("finish_time", DateTime(timezone=True)),
    _needed("description", Text),
    _needed("dataset", Text),
    _needed("dataset_digest", Text),
    _needed("total_rows", BigInteger),
    Column("row_limit", BigInteger),
    Column("sample", BigInteger),
    _needed("seed", Numeric),
    _needed("repeats", BigInteger),
    _needed("agent_source", Text),
    Column("agent_entry_point", Text),
    Column("agent_import_path", Text),
    Column("commit", Text),
    Column("dirty", Boolean),
    _needed("environment_fingerprint", Text),
    _needed("python", Text),
    _needed("timeout", Double),
    _needed("worker_ready_timeout", Double),
    _needed("parallelism", BigInteger),
    _needed("retries", BigInteger),
    _needed("retry_backoff_sec", Double),
    _needed("checkpoint_dir", Text),
    _needed("resume", Boolean),
    Column("judge_method", Text),
    Column("judge_model", Text),
    Column("judge_digest", Text),
    _needed("scorer", Text),
    _needed("bench_assets_version", Text),
    _needed("plan_identity", Text),
    _needed("payload_digest", Text),
    Column("stored_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _needed("record", JSONB),
    Index("runs_by_benchmark", "benchmark", "candidate", "start_time"),
)

run_metrics = Table(
    "run_metrics",
    metadata,
    _run_id(primary_key=True),
    *(_needed(name, BigInteger) for name in ("total", "attempted", "correct")),
    *(Column(name, Double) for name in ("accuracy", "avg_score", "precision", "recall", "f1")),
    _needed("judged", Boolean),
    *(_needed(name, BigInteger) for name in ("questions", "executions", "repetitions")),
    *(
        _needed(n, BigInteger)
        for n in ("incorrect", "not_attempted", "agent_error", "judge_error", "missing", "errors")
    ),
    _needed("error_kinds", JSONB),
    *(Column(name, Double) for name in ("coverage", "accuracy_low", "accuracy_high", "stderr")),
    *(Column(name, Double) for name in ("interval_low", "interval_high")),
    *(Column(name, Double) for name in ("latency_p50_ms", "latency_p90_ms", "latency_p99_ms", "latency_max_ms")),
    _needed("partial", Boolean),
    _needed("record", JSONB),
)

executions = Table(
    "executions",
    metadata,
    _run_id(primary_key=True),
    # A question's id can be longer than what a B-tree takes (2.7 kB), so the key is the execution's digest.
    Column("execution_id", Text, primary_key=True),
    _needed("question_id", Text),
    _needed("repetition", Integer),
    _needed("outcome", Text),
    Column("label", Text),
    Column("value", Double),
    Column("question", Text),
    Column("answer", Text),
    Column("golden", JSONB),
    _needed("method", Text),
    _needed("judge", Text),
    _needed("reason", Text),
    Column("error_kind", Text),
    Column("error_message", Text),
    Column("duration_ms", BigInteger),
    Column("attempts", Integer),
    Column("started_at", DateTime(timezone=True)),
    Column("usage", JSONB),
    Column("meta", JSONB),
    Column("reused_from", Text),
    _needed("cached", Boolean),
    Column("judge_usage", JSONB),
    Index("executions_by_question", "question_id", postgresql_using="hash"),
    Index("executions_by_outcome", "run_id", "outcome"),
)

transitions = Table(
    "transitions",
    metadata,
    Column("transition_id", BigInteger, Identity(always=True), primary_key=True),
    _run_id(primary_key=False),
    _needed("baseline_run_id", Text),
    _needed("question_id", Text),
    _needed("kind", Text),
    Column("baseline_outcome", Text),
    Column("outcome", Text),
    Column("baseline_score", Double),
    Column("score", Double),
    Index("transitions_by_runs", "run_id", "baseline_run_id"),
)

gates = Table(
    "gates",
    metadata,
    _run_id(primary_key=True),
    Column("baseline_run_id", Text, primary_key=True),
    _needed("verdict", Text),
    Column("comparable", Text),
    Column("delta", Double),
    Column("p_value", Double),
    _needed("reasons", JSONB),
    Column("decided_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _needed("record", JSONB),
    Column("baseline", Text),
    Column("n", BigInteger),
    Column("delta_low", Double),
    Column("delta_high", Double),
    CheckConstraint("verdict IN ('GO', 'NO-GO', 'INCONCLUSIVE')", name="gates_verdict"),
)

VOLATILE_EXECUTION_COLUMNS = ("cached", "judge_usage")
"""What may differ between two stores of the same execution: a verdict that comes from the cache costs no tokens."""
