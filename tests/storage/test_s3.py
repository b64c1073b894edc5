"""Objects on S3: what a folder does not have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from botocore.config import Config

from bench_assets.errors import ObjectMissing, StorageFailed
from bench_assets.storage.objects import S3Store
from bench_assets.storage.s3 import default_client
from tests.services.cutting_proxy import cutting_proxy
from tests.services.free_ports import free_ports
from tests.services.seaweed import S3Endpoint

WRITER = """
import sys
from pathlib import Path
from bench_assets.storage.objects import open_store

open_store(sys.argv[1], base=Path()).write("k", [b"new " * 500_000, b"new " * 500_000])
"""


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_writer_killed_in_the_middle_of_its_put_leaves_the_old_object_or_none(
    s3_store: S3Store, s3_endpoint: S3Endpoint, before: bytes | None
) -> None:
    if before is not None:
        s3_store.write("k", before)
    with cutting_proxy(s3_endpoint.url) as proxy:
        proxy.hold_after = 1_000_000
        environment = os.environ | s3_endpoint.environment | {"AWS_ENDPOINT_URL": proxy.url}
        with subprocess.Popen([sys.executable, "-c", WRITER, s3_store.root_url], env=environment) as writer:
            assert proxy.holds.wait(60)
            assert writer.poll() is None
            writer.kill()
    assert list(s3_store.list()) == ([] if before is None else ["k"])
    assert before is None or s3_store.read("k") == before


def test_an_object_above_64_mib_goes_up_in_parts(s3_store: S3Store) -> None:
    piece = bytes(range(256)) * 4096
    s3_store.write("big", (piece for _ in range(66)))
    assert sum(map(len, s3_store.chunks("big"))) == 66 << 20
    assert next(iter(s3_store.chunks("big"))) == piece


def test_an_answer_that_breaks_off_is_taken_up_where_it_broke(s3_store: S3Store, s3_endpoint: S3Endpoint) -> None:
    data = os.urandom(5_000_000)
    s3_store.write("k", data)
    with cutting_proxy(s3_endpoint.url) as proxy:
        through = S3Store(s3_endpoint.client(endpoint_url=proxy.url), bucket=s3_store.bucket, prefix=s3_store.prefix)
        proxy.cuts_left, proxy.cut_after = 2, 2_000_000
        assert through.read("k") == data
        assert proxy.cuts_left == 0
        proxy.cuts_left, proxy.cut_after = 100, 100_000
        with pytest.raises(StorageFailed, match="Could not read"):
            through.read("k")


def test_an_object_that_is_replaced_while_it_is_read_is_never_mixed(s3_store: S3Store, s3_endpoint: S3Endpoint) -> None:
    s3_store.write("k", b"a" * 5_000_000)
    with cutting_proxy(s3_endpoint.url) as proxy:
        through = S3Store(s3_endpoint.client(endpoint_url=proxy.url), bucket=s3_store.bucket, prefix=s3_store.prefix)
        proxy.cuts_left, proxy.cut_after = 1, 2_000_000
        chunks = through.chunks("k")
        next(chunks)
        s3_store.write("k", b"b" * 5_000_000)
        with pytest.raises(StorageFailed, match="it was replaced while it was read"):
            list(chunks)


def test_wrong_credentials_are_a_sentence_without_them(s3_store: S3Store, s3_endpoint: S3Endpoint) -> None:
    client = s3_endpoint.client(aws_secret_access_key="hush-hush-hush")
    store = S3Store(client, bucket=s3_store.bucket, prefix="x")
    for act in (store.read, store.exists, lambda key: store.write(key, b""), lambda key: store.create(key, b"")):
        with pytest.raises(StorageFailed, match="S3 says") as caught:
            act("k")
        assert not isinstance(caught.value, ObjectMissing)
        assert "hush" not in str(caught.value)
        assert s3_endpoint.access_key not in str(caught.value)


def test_a_missing_bucket_is_a_sentence_and_not_a_missing_object(s3_endpoint: S3Endpoint) -> None:
    store = S3Store(s3_endpoint.client(), bucket="no-such-bucket", prefix="")
    with pytest.raises(StorageFailed, match="there is no such bucket") as caught:
        store.read("k")
    assert not isinstance(caught.value, ObjectMissing)


def test_an_endpoint_where_nobody_listens_is_a_sentence(s3_endpoint: S3Endpoint) -> None:
    (port,) = free_ports(1)
    client = s3_endpoint.client(
        endpoint_url=f"http://127.0.0.1:{port}", config=Config(retries={"total_max_attempts": 1}, connect_timeout=2)
    )
    with pytest.raises(StorageFailed, match=f"127.0.0.1:{port}"):
        S3Store(client, bucket="bench", prefix="").read("k")


def test_a_store_without_credentials_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(StorageFailed, match="Unable to locate credentials"):
        S3Store(default_client(), bucket="bench", prefix="").read("k")


def test_a_lost_reply_to_a_creation_is_not_taken_for_somebody_elses(s3_store: S3Store, s3_endpoint: S3Endpoint) -> None:
    with cutting_proxy(s3_endpoint.url) as proxy:
        through = S3Store(s3_endpoint.client(endpoint_url=proxy.url), bucket=s3_store.bucket, prefix=s3_store.prefix)
        proxy.cuts_left, proxy.cut_after, proxy.swallow = 1, 0, True
        assert through.create("k", b"ours") is True
        assert proxy.cuts_left == 0
    assert s3_store.read("k") == b"ours"


def test_files_carry_the_type_a_browser_needs(s3_store: S3Store, s3_endpoint: S3Endpoint) -> None:
    def content_type(name: str) -> str:
        s3_store.write(name, b"")
        place = {"Bucket": s3_store.bucket, "Key": f"{s3_store.prefix}/{name}"}
        found: str = s3_endpoint.client().head_object(**place)["ContentType"]
        return found

    assert content_type("report.html") == "text/html; charset=utf-8"
    assert content_type("run.json") == "application/json"
    assert content_type("a/no-suffix") == "application/octet-stream"
