"""What the UI shows of a version that must not ship."""

import dagster as dg
import pytest
from playwright.sync_api import expect

from bench_assets.definitions import build_definitions
from tests.comparing.storing import Runs
from tests.services.opt_out import unless_opted_out
from tests.ui.browser import NoBrowser, find_browser, open_page
from tests.ui.server import dagster_dev

RESULTS = ("result_rows", "comparison", "leaderboard")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_no_go_is_a_red_check_with_its_reasons_and_a_place_on_the_leaderboard(project, database_url, tmp_path):
    with unless_opted_out("browser"):
        try:
            find_browser()
        except NoBrowser as error:
            pytest.fail(str(error))
    project.variables["BENCH_POSTGRES_URL"] = database_url
    (project.folder / "workspace.yaml").write_text(
        "load_from:\n  - python_module: {module_name: bench_assets.definitions, working_directory: .}\n",
        encoding="utf-8",
    )
    runs = Runs(project)
    with dg.DagsterInstance.from_config(str(project.folder / "dagster_home")) as instance:
        for candidate, right in (("kg@v1", 30), ("kg@v2", 10)):
            runs.add(candidate, right=right)
            materialize(runs, instance, candidate)
    with dagster_dev(project.folder, environment=project.environ) as address, open_page(pictures=tmp_path) as page:
        page.goto(f"{address}/assets/quiz/1.0/comparison?view=checks")
        expect(page.get_by_text("NO-GO: kg@v2. Accuracy changed by -50.0 points", exact=False)).to_be_visible()
        expect(page.get_by_text("Failed", exact=True).first).to_be_visible()
        page.goto(f"{address}/assets/quiz/1.0/result_rows?view=partitions")
        page.get_by_text("kg@v2").first.click()
        expect(page.get_by_role("row").filter(has_text="stored").first).to_be_visible()
        page.goto(f"{address}/assets/quiz/1.0/leaderboard")
        expect(page.get_by_role("cell", name="kg@v2", exact=True)).to_be_visible()
        page.get_by_text("[Show Markdown]").first.click()
        picture = page.get_by_role("img", name="Accuracy of all candidates")
        expect(picture).to_be_visible()
        assert picture.evaluate("picture => picture.naturalWidth") > 0


def materialize(runs: Runs, instance: dg.DagsterInstance, candidate: str) -> None:
    """Materialize what is behind a candidate's summary; a NO-GO ends the run as failed."""
    instance.add_dynamic_partitions("candidates", [candidate])
    keys = [dg.AssetKey(["quiz", "1.0", name]) for name in RESULTS]
    definitions = build_definitions([runs.benchmark], workspace=runs.workspace)
    job = definitions.get_repository_def().get_implicit_job_def_for_assets(keys)
    assert job is not None
    job.execute_in_process(
        instance=instance, asset_selection=keys, tags={"dagster/partition": candidate}, raise_on_error=False
    )
