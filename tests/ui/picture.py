"""Makes the README's picture: `python -m tests.ui.picture docs/pictures/graph.png`.

Runs the demo in a copy of the repository, starts Dagster there, and takes a picture of a benchmark's graph.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.readme.checkout import clean_environment, fresh_copy
from tests.ui.browser import open_page
from tests.ui.server import dagster_dev

BENCHMARK = "word_arithmetic_1_0"
GROUPS = ("agents", BENCHMARK)
WIDTH, HEIGHT = 1400, 640
TREE = 290
"""Pixels of the panel that is closed once the page has fitted the graph into what was beside it."""


def main(target: Path) -> None:
    """Write the picture to `target`."""
    with tempfile.TemporaryDirectory() as folder:
        copy = fresh_copy(Path(folder) / "bench-assets")
        environment = clean_environment(copy, cache=Path(folder) / "cache")
        environment["DAGSTER_HOME"] = str(copy / "dagster_home")
        subprocess.run([sys.executable, "examples/demo.py"], cwd=copy, env=environment, check=True, timeout=300)
        with dagster_dev(copy, environment=environment) as address:
            take_picture(address, target)


def take_picture(address: str, target: Path) -> None:
    """Picture the benchmark's graph with its groups open and everything else closed."""
    expanded = "%2C".join(f"global%40global%3A{group}" for group in GROUPS)
    with open_page(width=WIDTH + TREE, height=HEIGHT) as page:
        page.goto(f"{address}/overview")
        page.get_by_text("Hide navigation").click()  # before the graph is there, as it is fitted only once
        page.goto(f"{address}/asset-groups~%2Bgroup%3A%22{BENCHMARK}%22?expanded={expanded}")
        page.get_by_text("result_rows").first.wait_for()
        page.locator("button").filter(has=page.get_by_label("panel_show_right")).last.click()
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        page.mouse.move(WIDTH / 2, HEIGHT - 5)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1000)  # the panels slide, and nothing says when they have arrived
        target.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=target)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
