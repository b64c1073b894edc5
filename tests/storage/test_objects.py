"""What holds for every kind of store."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench_assets.errors import InvalidInput, ObjectMissing
from bench_assets.storage.objects import LocalStore, ObjectStore, S3Store, open_store
from tests.services.seaweed import S3Endpoint


def test_what_was_written_is_read_back_byte_for_byte(store: ObjectStore) -> None:
    data = bytes(range(256)) * 1000
    store.write("a/b c/ž.bin", data)
    assert store.read("a/b c/ž.bin") == data
    assert b"".join(store.chunks("a/b c/ž.bin")) == data


def test_a_stream_is_written_as_one_object(store: ObjectStore) -> None:
    store.write("stream", (b"%d\n" % number for number in range(50_000)))
    assert list(store.lines("stream")) == [b"%d" % number for number in range(50_000)]


def test_writing_again_replaces_the_object(store: ObjectStore) -> None:
    store.write("k", b"first, and longer")
    store.write("k", b"second")
    assert store.read("k") == b"second"


def test_an_empty_object_is_an_object(store: ObjectStore) -> None:
    store.write("empty", b"")
    assert store.exists("empty")
    assert store.read("empty") == b""
    assert list(store.lines("empty")) == []


def test_lines_are_split_on_line_feeds_only(store: ObjectStore) -> None:
    text = 'one\u2028still one\u2029\x85\r\n\n{"two": "\x0b\x0c\x1c"}\rtwo\nthree, torn \u00d0'.encode()[:-1]
    store.write("lines", text)
    assert list(store.lines("lines")) == text.split(b"\n")


def test_lines_longer_than_a_piece_stay_whole(store: ObjectStore) -> None:
    long = b"x" * 3_000_000
    store.write("long", long + b"\n" + long + b"\n")
    assert [len(line) for line in store.lines("long")] == [3_000_000, 3_000_000]


@pytest.mark.parametrize("read", ["read", "lines", "chunks"])
def test_reading_what_is_not_there_says_so(store: ObjectStore, read: str) -> None:
    store.write("a/b", b"x")
    for key in ("nothing", "a", "a/b/c"):
        with pytest.raises(ObjectMissing, match=key):
            list(getattr(store, read)(key))
        assert not store.exists(key)


def test_a_stream_that_fails_leaves_the_old_object(store: ObjectStore) -> None:
    def failing() -> Iterator[bytes]:
        yield b"half of it"
        raise RuntimeError("the disk of the sender")

    store.write("kept", b"old")
    for key in ("kept", "new"):
        with pytest.raises(RuntimeError, match="sender"):
            store.write(key, failing())
    assert store.read("kept") == b"old"
    assert list(store.list()) == ["kept"]


def test_listing_finds_keys_by_the_text_they_begin_with_in_order(store: ObjectStore) -> None:
    keys = ["runs/1/a", "runs/1/a-b", "runs/1/a/b", "runs/10/a", "runs/2/ž", "runs.json", "other/x"]
    if isinstance(store, LocalStore):
        keys.remove("runs/1/a/b")  # a folder cannot have the name of a file
    for key in reversed(keys):
        store.write(key, b"")
    assert list(store.list()) == sorted(keys)
    assert list(store.list("runs/1")) == sorted(key for key in keys if key.startswith("runs/1"))
    assert list(store.list("runs/1/")) == sorted(key for key in keys if key.startswith("runs/1/"))
    assert list(store.list("nobody/")) == []


def test_listing_more_than_a_page_of_keys_finds_all(store: ObjectStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: store.write(f"many/{number:04d}", b""), range(1010)))
    assert list(store.list("many/")) == [f"many/{number:04d}" for number in range(1010)]


def test_a_deleted_object_is_gone_and_deleting_it_again_is_fine(store: ObjectStore) -> None:
    store.write("a/b", b"x")
    store.delete("a/b")
    store.delete("a/b")
    store.delete("never/there")
    assert not store.exists("a/b")
    assert list(store.list()) == []


def test_creating_leaves_what_is_there(store: ObjectStore) -> None:
    assert store.create("claim", b"mine") is True
    assert store.create("claim", b"yours") is False
    assert store.read("claim") == b"mine"
    store.delete("claim")
    assert store.create("claim", b"yours") is True


def test_of_sixteen_that_create_at_once_one_wins(store: ObjectStore) -> None:
    start = threading.Barrier(16, timeout=30)

    def create(key: str, name: bytes) -> bytes | None:
        start.wait()
        return name if store.create(key, name) else None

    with ThreadPoolExecutor(16) as pool:
        for attempt in range(2):  # SeaweedFS lets the losers wait for whole seconds
            key = f"race-{attempt}"
            names = [b"%d" % number for number in range(16)]
            winners = [name for name in pool.map(create, [key] * 16, names) if name is not None]
            assert winners == [store.read(key)]


@pytest.mark.parametrize(
    "key",
    [
        *("", "/", "/a", "a//b", "a/", ".", "..", "../a", "a/../b", "a/./b", "a/.."),
        *("a\0b", "a\nb", "a\\b", "\ud83d", "a/.writing-1"),
    ],
)
def test_what_cannot_be_a_key_is_refused_before_anything_happens(store: ObjectStore, key: str) -> None:
    for act in (store.read, store.exists, store.delete, store.url, lambda k: store.write(k, b"")):
        with pytest.raises(InvalidInput, match="cannot name an object"):
            act(key)
    with pytest.raises(InvalidInput):
        store.create(key, b"")
    assert list(store.list()) == []


def test_an_urls_store_opens_at_the_same_place_again(store: ObjectStore, s3_endpoint: S3Endpoint) -> None:
    store.write("a/b", b"x")
    again = open_store(store.root_url, base=Path("/nowhere"), s3_client=s3_endpoint.client)
    assert again.read("a/b") == b"x"
    assert again.url("a/b") == store.url("a/b") == f"{store.root_url}/a/b"


@pytest.mark.parametrize("form", ["./store", "store", "{here}/store", "file://{here}/store", "file://{here}/%73tore"])
def test_a_folder_can_be_named_in_every_usual_form(tmp_path: Path, form: str) -> None:
    opened = open_store(form.format(here=tmp_path), base=tmp_path)
    opened.write("k", b"x")
    assert (tmp_path / "store" / "k").read_bytes() == b"x"
    assert opened.url("k") == str(tmp_path / "store" / "k")


def test_a_folder_needs_no_s3_client(tmp_path: Path) -> None:
    def fails() -> object:
        raise AssertionError("asked for a client")

    assert isinstance(open_store("x", base=tmp_path, s3_client=fails), LocalStore)


def test_s3_is_reached_with_the_usual_variables_alone(
    s3_endpoint: S3Endpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3_endpoint.environment.items():
        monkeypatch.setenv(name, value)
    prefix = s3_endpoint.new_prefix()
    store = open_store(f"s3://{s3_endpoint.bucket}/{prefix}/", base=tmp_path)
    assert isinstance(store, S3Store)
    store.write("k", b"x")
    assert store.root_url == f"s3://{s3_endpoint.bucket}/{prefix}"
    assert s3_endpoint.client().get_object(Bucket=s3_endpoint.bucket, Key=f"{prefix}/k")["Body"].read() == b"x"


@pytest.mark.parametrize(
    "url",
    [
        *("", "  ", "gs://bucket/x", "https://host/x", "s3://", "s3:///x", "s3:/bucket", "s3://b", "file://host/x"),
        *("C:/x", "s3://bucket/a/../b", "s3://bucket/a//b", "postgresql://u:hush@h/db", "s3://key:hush@bucket/x"),
    ],
)
def test_an_url_that_is_no_store_is_refused_in_a_sentence(url: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_store(url, base=tmp_path, s3_client=lambda: None)
    assert "hush" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert list(tmp_path.iterdir()) == []
