"""`comparison` and `leaderboard` as Dagster sees them, and the check."""

import dagster as dg
import pytest
from sqlalchemy import create_engine, text

from bench_assets.definitions import build_definitions
from bench_assets.storage.postgres.connecting import parse_url
from tests.comparing.storing import Runs

BOTH = ("comparison", "leaderboard")


class Materializer:
    """Materializes `quiz/1.0/…` of the project's stored runs, on an instance of its own."""

    def __init__(self, runs, instance):
        self.runs = runs
        self.instance = instance

    def __call__(self, *names, first=None, last=None):
        definitions = build_definitions([self.runs.benchmark], workspace=self.runs.workspace)
        keys = [dg.AssetKey(["quiz", "1.0", name]) for name in names]
        tags = {"dagster/partition": first} if first else {}
        if last:
            tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
        return (
            definitions.get_repository_def()
            .get_implicit_job_def_for_assets(keys)
            .execute_in_process(instance=self.instance, asset_selection=keys, tags=tags, raise_on_error=False)
        )

    def metadata(self, name, partition=None):
        partitions = [partition] if partition else None
        key = dg.AssetKey(["quiz", "1.0", name])
        (record,) = self.instance.fetch_materializations(
            dg.AssetRecordsFilter(key, asset_partitions=partitions), limit=1
        ).records
        return {name: value.value for name, value in record.asset_materialization.metadata.items()}


@pytest.fixture
def materialize(project, database_url):
    project.variables["BENCH_POSTGRES_URL"] = database_url
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("candidates", ["kg@v1", "kg@v2", "kg@v3"])
        yield Materializer(Runs(project), instance)


@pytest.fixture
def query(database_url):
    engine = create_engine(parse_url(database_url))

    def ask(statement):
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(statement))]

    yield ask
    engine.dispose()


def checks(result):
    return [
        (evaluation.passed, evaluation.severity, evaluation.description)
        for evaluation in result.get_asset_check_evaluations()
    ]


def test_a_go_passes_the_check_and_shows_figures_that_plot(materialize):
    runs = materialize.runs
    runs.add("kg@v1", right=30)
    assert materialize(*BOTH, first="kg@v1").success
    runs.add("kg@v2", right=39)
    done = materialize(*BOTH, first="kg@v2")
    assert done.success
    ((passed, _, told),) = checks(done)
    assert passed
    assert told == "GO: kg@v2. All 4 conditions are kept."
    shown = materialize.metadata("comparison", "kg@v2")
    assert (shown["verdict"], shown["baseline"], shown["delta"], shown["compared_questions"]) == (
        "GO", "kg@v1", 0.225, 40,
    )  # fmt: skip
    assert shown["delta_low"] < 0.225 < shown["delta_high"]
    assert (shown["questions_fixed"], shown["questions_broken"]) == (9, 0)
    assert "| accuracy of all | 75.0 % | 97.5 % |" in shown["figures"]
    assert "topic = a" in shown["groups"].replace("&#61;", "=")


def test_a_no_go_fails_red_with_its_reasons_and_still_reaches_postgres_and_the_leaderboard(materialize, query):
    runs = materialize.runs
    runs.add("kg@v1", right=30)
    materialize("result_rows", *BOTH, first="kg@v1")
    runs.add("kg@v2", right=10)
    done = materialize("result_rows", *BOTH, first="kg@v2")
    assert not done.success
    ((passed, severity, told),) = checks(done)
    assert (passed, severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert told.startswith("NO-GO: kg@v2. Accuracy changed by -50.0 points")
    assert query("SELECT verdict, baseline, n, delta FROM gates ORDER BY decided_at") == [
        ("GO", None, None, None),
        ("NO-GO", "kg@v1", 40, -0.5),
    ]
    assert query("SELECT candidate, verdict, compared FROM leaderboard ORDER BY place") == [
        ("kg@v1", "GO", None),
        ("kg@v2", "NO-GO", 40),
    ]
    assert dict(query("SELECT kind, count(*) FROM transitions GROUP BY kind")) == {
        "broken": 20, "still_right": 10, "still_wrong": 10,
    }  # fmt: skip
    board = materialize.metadata("leaderboard")
    assert "❌ NO-GO" in board["leaderboard"].replace("&#45;", "-")
    assert (board["candidates"], board["missing"], board["best"]) == (2, 1, "kg@v1")
    assert "Without a finished run: kg@v3." in board["leaderboard"]
    assert board["history"].startswith("![Accuracy of all candidates](data:image/svg+xml;base64,")


def test_what_is_open_is_a_warning_that_stops_nothing(materialize):
    runs = materialize.runs
    runs.add("kg@v1", right=30)
    materialize("comparison", first="kg@v1")
    runs.add("kg@v2", right=29)
    done = materialize(*BOTH, first="kg@v2")
    assert done.success
    ((passed, severity, told),) = checks(done)
    assert (passed, severity) == (False, dg.AssetCheckSeverity.WARN)
    assert told.startswith("INCONCLUSIVE: kg@v2. ")


def test_several_candidates_in_one_run_are_decided_one_by_one(materialize, query):
    runs = materialize.runs
    for candidate, right in (("kg@v1", 30), ("kg@v2", 10), ("kg@v3", 40)):
        runs.add(candidate, right=right)
    done = materialize("comparison", first="kg@v1", last="kg@v3")
    ((passed, _, told),) = checks(done)
    assert not passed
    assert [line.split(".")[0] for line in told.splitlines()] == ["GO: kg@v1", "NO-GO: kg@v2", "GO: kg@v3"]
    assert query("SELECT candidate, verdict FROM gates JOIN runs USING (run_id) ORDER BY 1") == [
        ("kg@v1", "GO"), ("kg@v2", "NO-GO"), ("kg@v3", "GO"),
    ]  # fmt: skip


def test_deciding_again_replaces_the_decision_with_the_same_baseline(materialize, query):
    runs = materialize.runs
    runs.add("kg@v1", right=30)
    for _ in range(2):
        materialize("comparison", first="kg@v1")
    assert query("SELECT count(*) FROM gates") == [(1,)]


def test_a_comparison_says_what_is_missing_when_the_run_is_not_finished(materialize):
    materialize.runs.add("kg@v1", right=30, status="checkpoint")
    done = materialize("comparison", first="kg@v1")
    (failure,) = [event for event in done.all_events if event.is_step_failure]
    assert "its status is `checkpoint`" in failure.step_failure_data.user_failure_data.description


def test_a_leaderboard_without_any_run_names_who_is_missing(materialize):
    assert materialize("leaderboard").success
    board = materialize.metadata("leaderboard")
    assert (board["candidates"], board["missing"]) == (0, 3)


# Dagster 1.13 uses a parameter of its own that is in beta.
@pytest.mark.filterwarnings("ignore:Parameter `include_sources`")
def test_under_automation_a_leaderboard_follows_summaries_and_decisions(project):
    runs = Runs(project, extra="automation: true\n")
    board = dg.AssetKey(["quiz", "1.0", "leaderboard"])
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("candidates", ["kg@v1", "kg@v2"])
        definitions = build_definitions([runs.benchmark], workspace=runs.workspace)
        cursor = None
        requested = []
        for update in (None, "summary", None, "comparison", None):
            if update:
                key = dg.AssetKey(["quiz", "1.0", update])
                instance.report_runless_asset_event(dg.AssetMaterialization(key, partition="kg@v1"))
            result = dg.evaluate_automation_conditions(definitions, instance, cursor=cursor)
            cursor = result.cursor
            requested.append(result.get_num_requested(board))
    assert requested == [0, 1, 0, 1, 0]
