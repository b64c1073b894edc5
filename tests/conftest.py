"""Fixtures for all tests: real services, each started once a test process and only when a test asks for it."""

import os
import signal

import pytest

pytest_plugins = [
    "tests.endtoend.fixtures",
    "tests.services.postgres",
    "tests.services.seaweed",
    "tests.services.small_llm",
]


def pytest_configure() -> None:
    """Take ^C as in a terminal: a shell's background job ignores it, and with it everything that the tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests, in each test process with its share: else they would be the tail of the run.

    Each process begins with a contiguous part of all tests, as many as the others.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    slow = [item for item in items if item.get_closest_marker("slow")]
    quick = [item for item in items if not item.get_closest_marker("slow")]
    share = len(items) // processes
    items.clear()
    for number in range(processes):
        own = slow[number::processes]
        rest = share - len(own) if number < processes - 1 else len(quick)
        items += own + quick[:rest]
        del quick[:rest]
