"""A user's project, for the tests that run the whole."""

import pytest

from tests.endtoend.project import UserProject


@pytest.fixture(scope="session")
def environment_cache(tmp_path_factory):
    """One cache of environments for all end-to-end tests of a process: equal agents are built once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path, environment_cache):
    folder = tmp_path / "project"
    (folder / "dagster_home").mkdir(parents=True)
    settings = "telemetry:\n  enabled: false\n"
    (folder / "dagster_home" / "dagster.yaml").write_text(settings, encoding="utf-8")
    (folder / "benchmarks").mkdir()
    return UserProject(folder=folder, cache=environment_cache)
