"""Objects in a folder."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bench_assets.errors import StorageFailed
from bench_assets.storage.objects import LocalStore

WRITER = """
import sys, threading
from pathlib import Path
from bench_assets.storage.objects import LocalStore

def half():
    yield b"new " * 100_000
    print("half", flush=True)
    threading.Event().wait(60)

LocalStore(Path(sys.argv[1])).write("a/k", half())
"""


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_writer_killed_in_the_middle_leaves_the_old_object_or_none(tmp_path: Path, before: bytes | None) -> None:
    store = LocalStore(tmp_path)
    if before is not None:
        store.write("a/k", before)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        writer.kill()
    assert store.exists("a/k") == (before is not None)
    assert list(store.list()) == ([] if before is None else ["a/k"])
    assert before is None or store.read("a/k") == before
    assert len(list((tmp_path / "a").iterdir())) == 1 + (before is not None), "its unfinished file is there, unlisted"
    store.write("a/k", b"next")
    assert store.read("a/k") == b"next"


def test_readers_never_see_a_half_written_object(local_store: LocalStore) -> None:
    contents = {bytes([letter]) * 500_000 for letter in b"abc"}
    local_store.write("k", min(contents))
    ended = threading.Event()

    def write() -> None:
        for _ in range(10):
            for data in contents:
                local_store.write("k", data)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        assert local_store.read("k") in contents
    writer.join(30)


def test_nothing_is_made_before_the_first_write(local_store: LocalStore) -> None:
    assert list(local_store.list()) == []
    assert not local_store.exists("a/b")
    local_store.delete("a/b")
    assert not local_store.root.exists()


def test_objects_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    # In a child: the umask belongs to the whole process, and other tests may run in its threads.
    code = (
        "import os, sys; from bench_assets.storage.objects import LocalStore; os.umask(0o027); "
        "s = LocalStore(sys.argv[1]); s.write('a', b''); s.create('b', b'')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in "ab"} == {0o640}


def test_foreign_files_that_no_key_can_name_are_not_listed(local_store: LocalStore) -> None:
    local_store.write("k", b"")
    (local_store.root / os.fsdecode(b"not-utf8-\xff")).write_bytes(b"")
    (local_store.root / "back\\slash").write_bytes(b"")
    assert list(local_store.list()) == ["k"]


def test_a_key_below_an_object_is_a_sentence(local_store: LocalStore) -> None:
    local_store.write("a", b"x")
    with pytest.raises(StorageFailed, match="a file stands where a folder is needed"):
        local_store.write("a/b", b"y")
    local_store.write("c/d", b"y")
    with pytest.raises(StorageFailed, match="or the other way round"):
        local_store.write("c", b"y")


def test_a_name_too_long_for_the_file_system_is_a_sentence(local_store: LocalStore) -> None:
    with pytest.raises(StorageFailed, match="File name too long"):
        local_store.write("x" * 300, b"")
    with pytest.raises(StorageFailed, match="File name too long"):
        local_store.exists("x" * 300)
