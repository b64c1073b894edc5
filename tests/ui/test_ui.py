"""A stranger's first evaluation in Dagster's UI, with the mouse, in a real browser."""

import json
import subprocess
import sys
import time
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.fakes.openai_endpoint import OpenAIEndpoint, verdict
from tests.readme.checkout import clean_environment, fresh_copy, running_in
from tests.services.opt_out import unless_opted_out
from tests.ui.browser import NoBrowser, find_browser, open_page
from tests.ui.server import dagster_dev

CANDIDATE = "abacus@v1.1.0"
BACKFILL_TIMEOUT_SEC = 300
"""The daemon looks at a backfill every 30 seconds, and this one has three stages."""

BACKFILL = """
query Backfill($id: String!) {
  partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status error { message } runs(limit: 20) { id status } }
  }
}
"""


@pytest.fixture
def browser():
    with unless_opted_out("browser"):
        try:
            yield find_browser()
        except NoBrowser as error:
            pytest.fail(str(error))


@pytest.fixture
def copy(tmp_path):
    """A fresh copy of the repository, with the example agent's repository as `make ui` makes it."""
    folder = fresh_copy(tmp_path / "bench-assets")
    make = [sys.executable, "examples/abacus/make_repository.py", ".bench/demo/abacus"]
    subprocess.run(make, cwd=folder, check=True, timeout=60)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_candidate_added_in_the_ui_goes_through_the_whole_graph(tmp_path, browser, copy):
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as judge:
        environment = clean_environment(copy, cache=tmp_path / "cache")
        environment |= {"OPENAI_BASE_URL": judge.base_url, "OPENAI_API_KEY": "key-of-the-test"}
        with dagster_dev(copy, environment=environment) as address, open_page(pictures=tmp_path) as page:
            backfill = materialize_all(page, address)
            wait_for_backfill(address, backfill)
            see_what_was_materialized(page, address)
        assert judge.requests
    assert running_in(copy) == []


def test_a_machine_without_a_browser_is_told_what_to_install_or_to_leave_out(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBrowser, match=r"Install `chromium`.*BENCH_TESTS_WITHOUT=browser"):
        find_browser()


def materialize_all(page: Page, address: str) -> str:
    """Do what the README's paragraph on the UI says. Returns the backfill's id."""
    page.goto(address)
    page.get_by_role("link", name="Lineage").click()
    page.get_by_role("button", name="Materialize all").click()
    launch = page.get_by_role("dialog").filter(has_text="Launch runs to materialize 15 assets")
    launch.get_by_text("Add a partition", exact=True).click()
    adding = page.get_by_role("dialog").filter(has_text="Partition name")
    adding.get_by_placeholder("name").fill(CANDIDATE)
    adding.get_by_role("button", name="Save").click()
    expect(launch.get_by_text(CANDIDATE).first).to_be_visible()
    with page.expect_response(
        lambda response: "LaunchPartitionBackfill" in (response.request.post_data or "")
    ) as launched:
        launch.get_by_role("button", name="Launch backfill").click()
    return str(launched.value.json()["data"]["launchPartitionBackfill"]["backfillId"])


def wait_for_backfill(address: str, backfill: str) -> None:
    end = time.monotonic() + BACKFILL_TIMEOUT_SEC
    while True:
        now = ask(address, BACKFILL, id=backfill)["partitionBackfillOrError"]
        failed = [run["id"] for run in now["runs"] if run["status"] in ("FAILURE", "CANCELED")]
        assert not failed, f"failed runs of the backfill: {', '.join(failed)}"
        if now["status"] == "COMPLETED_SUCCESS":
            return
        assert time.monotonic() < end, f"the backfill is not done after {BACKFILL_TIMEOUT_SEC} s: {now}"
        time.sleep(1)


def see_what_was_materialized(page: Page, address: str) -> None:
    folder = f"{address}/assets/word_arithmetic/1.0"
    for asset, row in (("summary", ["accuracy", "0.875"]), ("result_rows", ["executions", "24"])):
        page.goto(f"{folder}/{asset}?view=partitions")
        page.get_by_text(CANDIDATE).first.click()
        cells = page.get_by_role("row").filter(has=page.get_by_text(row[0], exact=True)).get_by_role("cell")
        expect(cells.first).to_have_text(row[0])
        expect(cells.nth(1)).to_have_text(row[1])
    page.goto(f"{folder}/scores?view=partitions")
    expect(page.get_by_text("Materialized (4)")).to_be_visible()
    page.goto(f"{address}/assets/everyday_reasons/1.0/summary?view=partitions")
    page.get_by_text(CANDIDATE).first.click()
    expect(page.get_by_role("row").filter(has_text="judged")).to_contain_text("true")


def ask(address: str, query: str, **variables: Any) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{address}/graphql", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["data"]
