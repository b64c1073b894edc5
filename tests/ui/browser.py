"""The system's Chromium, without a window, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    "--no-sandbox",  # Chromium refuses to run as root with it, as CI does; it opens our own pages only
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS = 60_000
"""How long one click or look may wait for its element: pages are slow on a busy machine."""


class NoBrowser(Exception):
    """Raised when there is no Chromium to look at the pages with."""


def find_browser() -> str:
    """Return the browser's program. Raises NoBrowser, with what to do."""
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    raise NoBrowser(
        f"The tests of the UI need a browser, and PATH has none of {', '.join(PROGRAMS)}. Install `chromium` "
        "(on Debian: apt-get install chromium fonts-dejavu-core), or set BENCH_TESTS_WITHOUT=browser to leave them out."
    )


@contextmanager
def open_page(*, pictures: Path | None = None, width: int = 1400, height: int = 900) -> Iterator[Page]:
    """Open an empty page of that many pixels. When the block fails, `pictures` gets a picture of what was there."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), headless=True, args=list(SWITCHES))
        try:
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
            page.set_default_timeout(WAIT_MS)
            try:
                yield page
            except BaseException:
                if pictures is not None:
                    page.screenshot(path=pictures / "failure.png")
                raise
        finally:
            browser.close()
