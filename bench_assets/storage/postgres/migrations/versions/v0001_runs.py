"""Runs, their metrics and executions, comparisons, and two views for dashboards.

`leaderboard`
    For every benchmark the one run that speaks for each candidate: its newest finished run over the whole dataset, or,
    where there is none, its newest one. `place` ranks by accuracy, in which everything without a verdict counts as
    wrong. `notes` names what to know before believing the place: errors, a run over a part of the dataset, another
    dataset or judge than the benchmark's newest run. NULL means that there is nothing to say.

`run_history`
    Every run with its figures. `accuracy_change` is the difference to the agent's run before it on the same benchmark
    and the same dataset (smoke tests and other partial runs are compared among themselves); `previous_run_id` names
    that run. Both are NULL for the first.
"""

from alembic import op

revision = "0001"
down_revision = None

TABLES = """
CREATE TABLE runs (
    run_id text PRIMARY KEY,
    status text NOT NULL,
    benchmark text NOT NULL,
    candidate text NOT NULL,
    agent text NOT NULL,
    ref text,
    variant text,
    start_time timestamptz NOT NULL,
    finish_time timestamptz,
    description text NOT NULL,
    dataset text NOT NULL,
    dataset_digest text NOT NULL,
    total_rows bigint NOT NULL,
    row_limit bigint,
    sample bigint,
    seed numeric NOT NULL,
    repeats bigint NOT NULL,
    agent_source text NOT NULL,
    agent_entry_point text,
    agent_import_path text,
    commit text,
    dirty boolean,
    environment_fingerprint text NOT NULL,
    python text NOT NULL,
    timeout double precision NOT NULL,
    worker_ready_timeout double precision NOT NULL,
    parallelism bigint NOT NULL,
    retries bigint NOT NULL,
    retry_backoff_sec double precision NOT NULL,
    checkpoint_dir text NOT NULL,
    resume boolean NOT NULL,
    judge_method text,
    judge_model text,
    judge_digest text,
    scorer text NOT NULL,
    bench_assets_version text NOT NULL,
    plan_identity text NOT NULL,
    payload_digest text NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT now(),
    record jsonb NOT NULL
);
CREATE INDEX runs_by_benchmark ON runs (benchmark, candidate, start_time);

CREATE TABLE run_metrics (
    run_id text PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    total bigint NOT NULL,
    attempted bigint NOT NULL,
    correct bigint NOT NULL,
    accuracy double precision,
    avg_score double precision,
    "precision" double precision,
    recall double precision,
    f1 double precision,
    judged boolean NOT NULL,
    questions bigint NOT NULL,
    executions bigint NOT NULL,
    repetitions bigint NOT NULL,
    incorrect bigint NOT NULL,
    not_attempted bigint NOT NULL,
    agent_error bigint NOT NULL,
    judge_error bigint NOT NULL,
    missing bigint NOT NULL,
    errors bigint NOT NULL,
    error_kinds jsonb NOT NULL,
    coverage double precision,
    accuracy_low double precision,
    accuracy_high double precision,
    stderr double precision,
    interval_low double precision,
    interval_high double precision,
    latency_p50_ms double precision,
    latency_p90_ms double precision,
    latency_p99_ms double precision,
    latency_max_ms double precision,
    partial boolean NOT NULL,
    record jsonb NOT NULL
);

CREATE TABLE executions (
    run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
    execution_id text NOT NULL,
    question_id text NOT NULL,
    repetition integer NOT NULL,
    outcome text NOT NULL,
    label text,
    value double precision,
    question text,
    answer text,
    golden jsonb,
    method text NOT NULL,
    judge text NOT NULL,
    reason text NOT NULL,
    error_kind text,
    error_message text,
    duration_ms bigint,
    attempts integer,
    started_at timestamptz,
    usage jsonb,
    meta jsonb,
    reused_from text,
    cached boolean NOT NULL,
    judge_usage jsonb,
    PRIMARY KEY (run_id, execution_id)
);
CREATE INDEX executions_by_question ON executions USING hash (question_id);
CREATE INDEX executions_by_outcome ON executions (run_id, outcome);

CREATE TABLE transitions (
    transition_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
    baseline_run_id text NOT NULL,
    question_id text NOT NULL,
    kind text NOT NULL,
    baseline_outcome text,
    outcome text,
    baseline_score double precision,
    score double precision
);
CREATE INDEX transitions_by_runs ON transitions (run_id, baseline_run_id);

CREATE TABLE gates (
    run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
    baseline_run_id text NOT NULL,
    verdict text NOT NULL CONSTRAINT gates_verdict CHECK (verdict IN ('GO', 'NO-GO', 'INCONCLUSIVE')),
    comparable text NOT NULL,
    delta double precision,
    p_value double precision,
    reasons jsonb NOT NULL,
    decided_at timestamptz NOT NULL DEFAULT now(),
    record jsonb NOT NULL,
    PRIMARY KEY (run_id, baseline_run_id)
);
"""

VIEWS = """
CREATE VIEW leaderboard AS
WITH spokesmen AS (
    SELECT DISTINCT ON (benchmark, candidate) *
    FROM runs JOIN run_metrics USING (run_id)
    ORDER BY benchmark, candidate, status <> 'finished', partial, start_time DESC
)
SELECT
    benchmark,
    rank() OVER (PARTITION BY benchmark ORDER BY accuracy DESC NULLS LAST) AS place,
    candidate, agent, ref, variant, run_id, start_time,
    accuracy, interval_low, interval_high, stderr, correct, attempted, total,
    "precision", f1, errors, coverage, latency_p50_ms, latency_p90_ms,
    nullif(concat_ws('; ',
        CASE WHEN status <> 'finished' THEN status END,
        CASE WHEN agent_error > 0 THEN 'agent errors ' || agent_error END,
        CASE WHEN judge_error > 0 THEN 'judge errors ' || judge_error END,
        CASE WHEN missing > 0 THEN 'missing ' || missing END,
        CASE WHEN partial THEN 'partial run' END,
        CASE WHEN dataset_digest <> first_value(dataset_digest) OVER newest THEN 'another dataset' END,
        CASE WHEN judge_digest <> first_value(judge_digest) OVER newest THEN 'another judge' END
    ), '') AS notes
FROM spokesmen
WINDOW newest AS (PARTITION BY benchmark ORDER BY start_time DESC);

CREATE VIEW run_history AS
SELECT
    run_id, benchmark, candidate, agent, ref, variant, status, start_time, finish_time,
    extract(epoch FROM finish_time - start_time)::double precision AS seconds,
    commit, dirty, description, judge_method, judge_model, dataset_digest, judge_digest,
    accuracy, interval_low, interval_high, correct, attempted, total, "precision", f1,
    errors, coverage, judged, partial, latency_p50_ms, latency_p90_ms,
    accuracy - lag(accuracy) OVER before AS accuracy_change,
    lag(run_id) OVER before AS previous_run_id
FROM runs JOIN run_metrics USING (run_id)
WINDOW before AS (PARTITION BY benchmark, agent, dataset_digest, partial ORDER BY start_time);
"""


def upgrade() -> None:
    """Make the tables and views."""
    op.execute(TABLES)
    op.execute(VIEWS)


def downgrade() -> None:
    """Drop them, with everything in them."""
    op.execute("DROP VIEW run_history, leaderboard")
    op.execute("DROP TABLE gates, transitions, executions, run_metrics, runs")
