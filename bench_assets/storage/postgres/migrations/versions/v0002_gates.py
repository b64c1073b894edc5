"""What the gate said, beside a run's figures; and one question over all runs.

`gates` gets the baseline's candidate, the number of common questions and the interval; `comparable` is NULL for a
decision without a baseline, whose `baseline_run_id` is empty.

`leaderboard` and `run_history`
    As before, and the newest decision on the run: `verdict`, `baseline` (a candidate), `delta`, `delta_low`,
    `delta_high`, `p_value`, `compared` (questions). All are NULL where the gate was not asked, and all but `verdict`
    without a baseline.

`question_history`
    One row for each question of each run. `score` is the share of repetitions that are correct, `outcome` what they
    all ended in (NULL where they differ), `answer`, `reason` and `error` those of the first repetition. `change` is the
    difference to `score` in the run before it, of the same agent, on the same benchmark and a question of the same id
    and text; NULL for the first.
"""

from alembic import op

revision = "0002"
down_revision = "0001"

TABLES = """
ALTER TABLE gates
    ALTER COLUMN comparable DROP NOT NULL,
    ADD COLUMN baseline text,
    ADD COLUMN n bigint,
    ADD COLUMN delta_low double precision,
    ADD COLUMN delta_high double precision;
"""

DECISIONS = """
    SELECT DISTINCT ON (run_id) run_id, verdict, baseline, delta, delta_low, delta_high, p_value, n AS compared
    FROM gates
    ORDER BY run_id, decided_at DESC
"""
DECIDED = "verdict, baseline, delta, delta_low, delta_high, p_value, compared"

LEADERBOARD = """
CREATE VIEW leaderboard AS
WITH spokesmen AS (
    SELECT DISTINCT ON (benchmark, candidate) *
    FROM runs JOIN run_metrics USING (run_id)
    ORDER BY benchmark, candidate, status <> 'finished', partial, start_time DESC
){decisions}
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
    ), '') AS notes{columns}
FROM spokesmen{join}
WINDOW newest AS (PARTITION BY benchmark ORDER BY start_time DESC);
"""

RUN_HISTORY = """
CREATE VIEW run_history AS
{decisions}SELECT
    run_id, benchmark, candidate, agent, ref, variant, status, start_time, finish_time,
    extract(epoch FROM finish_time - start_time)::double precision AS seconds,
    commit, dirty, description, judge_method, judge_model, dataset_digest, judge_digest,
    accuracy, interval_low, interval_high, correct, attempted, total, "precision", f1,
    errors, coverage, judged, partial, latency_p50_ms, latency_p90_ms,
    accuracy - lag(accuracy) OVER before AS accuracy_change,
    lag(run_id) OVER before AS previous_run_id{columns}
FROM runs JOIN run_metrics USING (run_id){join}
WINDOW before AS (PARTITION BY benchmark, agent, dataset_digest, partial ORDER BY start_time);
"""

QUESTION_HISTORY = """
CREATE VIEW question_history AS
WITH asked AS (
    SELECT
        question_id, run_id,
        min(question) AS question,
        count(*) AS times,
        count(*) FILTER (WHERE outcome = 'correct') AS right_times,
        avg(CASE WHEN outcome = 'correct' THEN 1.0 ELSE 0.0 END)::double precision AS score,
        CASE WHEN count(DISTINCT outcome) = 1 THEN min(outcome) END AS outcome,
        (array_agg(answer ORDER BY repetition))[1] AS answer,
        (array_agg(reason ORDER BY repetition))[1] AS reason,
        (array_agg(concat_ws(': ', error_kind, error_message) ORDER BY repetition) FILTER (WHERE error_kind <> ''))[1]
            AS error
    FROM executions
    GROUP BY question_id, run_id
)
SELECT
    benchmark, question_id, question, candidate, agent, ref, variant, run_id, start_time, partial,
    times AS repetitions, right_times AS correct, score, outcome, answer, reason, error,
    score - lag(score) OVER before AS change
FROM asked JOIN runs USING (run_id) JOIN run_metrics USING (run_id)
WINDOW before AS (PARTITION BY benchmark, question_id, agent, question ORDER BY start_time);
"""


def upgrade() -> None:
    """Make room for the decisions, and show them."""
    op.execute("DROP VIEW run_history, leaderboard")
    op.execute(TABLES)
    join = " LEFT JOIN decisions USING (run_id)"
    op.execute(LEADERBOARD.format(decisions=f", decisions AS ({DECISIONS})", columns=f",\n    {DECIDED}", join=join))
    op.execute(
        RUN_HISTORY.format(decisions=f"WITH decisions AS ({DECISIONS})\n", columns=f",\n    {DECIDED}", join=join)
    )
    op.execute(QUESTION_HISTORY)


def downgrade() -> None:
    """Forget the decisions that had no baseline, and the columns of the others."""
    op.execute("DROP VIEW question_history, run_history, leaderboard")
    op.execute("DELETE FROM gates WHERE comparable IS NULL")
    op.execute(
        "ALTER TABLE gates ALTER COLUMN comparable SET NOT NULL, DROP COLUMN baseline, DROP COLUMN n, "
        "DROP COLUMN delta_low, DROP COLUMN delta_high"
    )
    op.execute(LEADERBOARD.format(decisions="", columns="", join=""))
    op.execute(RUN_HISTORY.format(decisions="", columns="", join=""))
