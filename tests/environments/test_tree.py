import os

import pytest

from bench_assets.environments.tree import tree_digest
from bench_assets.errors import InvalidAgent


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]", encoding="utf-8")
    (root / "src" / "a.py").write_text("A = 1", encoding="utf-8")
    (root / "link").symlink_to("src")
    return root


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "src" / "a.py").write_text("A = 2", encoding="utf-8"),
        lambda root: (root / "src" / "a.py").rename(root / "src" / "b.py"),
        lambda root: (root / "src" / "a.py").chmod(0o755),
        lambda root: (root / "src" / "new.py").touch(),
        lambda root: (root / "empty").mkdir(),
        lambda root: ((root / "link").unlink(), (root / "link").symlink_to("pyproject.toml")),
        lambda root: ((root / "src" / "a.py").unlink(), (root / "a.py").write_text("A = 1", encoding="utf-8")),
    ],
)
def test_names_bytes_executable_bits_and_link_targets_count(tree, change):
    before = tree_digest(tree)
    change(tree)
    assert tree_digest(tree) != before


def test_times_caches_and_repositories_do_not_count(tree):
    before = tree_digest(tree)
    os.utime(tree / "src" / "a.py", (1, 1))
    for name in (".git", "__pycache__", ".venv", ".mypy_cache", "kg.egg-info", ".bench"):
        (tree / name).mkdir()
        (tree / name / "file").write_text("x", encoding="utf-8")
    (tree / "src" / "a.pyc").touch()
    (tree / "my-env" / "bin").mkdir(parents=True)
    (tree / "my-env" / "pyvenv.cfg").touch()
    (tree / "some-cache").mkdir()
    (tree / "some-cache" / "CACHEDIR.TAG").touch()
    assert tree_digest(tree) == before


def test_a_copy_has_the_digest_of_its_original(tree, tmp_path):
    (tree / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (tree / "run.sh").chmod(0o700)
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "pipe")
    copied = tmp_path / "copy"
    assert tree_digest(tree, copy_to=copied) == tree_digest(tree) == tree_digest(copied)
    assert os.access(copied / "run.sh", os.X_OK)
    assert (copied / "link").readlink().name == "src"
    assert not (copied / "pipe").exists()


def test_a_link_that_leaves_the_tree_counts_and_is_copied_as_what_it_points_at(tree, tmp_path, tmp_path_factory):
    copied = tmp_path_factory.mktemp("copies") / "copy"
    outside = tmp_path / "README.md"
    outside.write_text("one", encoding="utf-8")
    (tree / "README.md").symlink_to("../README.md")
    (tree / "self").symlink_to(tmp_path)  # leads back to where it lies
    before = tree_digest(tree, copy_to=copied)
    assert (copied / "README.md").read_text(encoding="utf-8") == "one"
    assert not (copied / "README.md").is_symlink()
    outside.write_text("two", encoding="utf-8")
    assert tree_digest(tree) != before


def test_names_that_are_no_text_do_not_stop_it(tree):
    before = tree_digest(tree)
    (tree / os.fsdecode(b"caf\xe9\n.py")).touch()
    assert tree_digest(tree) != before


def test_a_tree_that_cannot_be_read_is_a_sentence(tree, tmp_path, monkeypatch):
    with pytest.raises(InvalidAgent, match="cannot be read: No such file"):
        tree_digest(tmp_path / "gone")
