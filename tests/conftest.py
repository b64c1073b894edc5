"""Fixtures for all tests: real services, each started once a test process and only when a test asks for it."""

import pytest

pytest_plugins = [
    "tests.endtoend.fixtures",
    "tests.services.postgres",
    "tests.services.seaweed",
    "tests.services.small_llm",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests: with several processes they would else be the tail of the run."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
