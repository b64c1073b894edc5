"""The one way to leave out tests that need a real service."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

VARIABLE = "BENCH_TESTS_WITHOUT"
"""Names of services, separated by commas (`s3`, `postgres`, `browser`, `kubernetes`, `llm`), whose tests are skipped.

It is for machines that cannot run them. Without it a service that does not start fails the tests: a skipped test
proves nothing, and nobody reads skips.
"""


@contextmanager
def unless_opted_out(service: str) -> Iterator[None]:
    """Skip the test when `BENCH_TESTS_WITHOUT` names `service`."""
    if service in os.environ.get(VARIABLE, "").replace(" ", "").split(","):
        pytest.skip(f"{VARIABLE} leaves out `{service}`")
    yield
