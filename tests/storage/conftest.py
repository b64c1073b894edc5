"""Stores for the tests of storage."""

from pathlib import Path

import pytest

from bench_assets.storage.objects import LocalStore, ObjectStore, S3Store
from tests.services.seaweed import S3Endpoint


@pytest.fixture
def s3_store(s3_endpoint: S3Endpoint) -> S3Store:
    return S3Store(s3_endpoint.client(), bucket=s3_endpoint.bucket, prefix=s3_endpoint.new_prefix())


@pytest.fixture
def local_store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture(params=["local_store", "s3_store"])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    """One kind of store after the other: what a test says of it holds for both."""
    chosen: ObjectStore = request.getfixturevalue(request.param)
    return chosen
