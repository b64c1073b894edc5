"""Fixtures for all tests: real services, each started once a test process and only when a test asks for it."""

pytest_plugins = ["tests.endtoend.fixtures", "tests.services.postgres", "tests.services.seaweed"]
