"""A project with runs to compare."""

import pytest

from tests.comparing.storing import Runs


@pytest.fixture
def runs(project):
    return Runs(project)
