"""An empty cache with nothing of this machine's settings in it: no network, no index, a home of its own."""

import os
from pathlib import Path

import pytest

from bench_assets.environments.cache import EnvironmentCache, EnvironmentRequest
from bench_assets.environments.source import parse_source
from tests.environments.private_git import PrivateGit
from tests.environments.projects import GatedProject, make_project


@pytest.fixture(scope="session")
def uv_cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("uv-cache")


@pytest.fixture
def environ(tmp_path, uv_cache) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "uv.toml").write_text("no-index = true\n", encoding="utf-8")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "UV_CACHE_DIR": str(uv_cache),
        "UV_CONFIG_FILE": str(home / "uv.toml"),
        "PYENV_ROOT": os.environ.get("PYENV_ROOT", str(Path("~/.pyenv").expanduser())),
    }


@pytest.fixture
def lines() -> list[str]:
    """What builds said."""
    return []


@pytest.fixture
def cache(tmp_path, environ, lines):
    with EnvironmentCache(tmp_path / "cache", build_timeout_sec=120, on_line=lines.append, environ=environ) as cache:
        yield cache


@pytest.fixture
def worker(tmp_path) -> Path:
    return make_project(tmp_path / "worker", name="bench-worker", says="worker")


@pytest.fixture
def ask(tmp_path, worker):
    """Make a request of a source's text; relative paths start from the test's folder."""

    def make(source: str, *, ref=None, extra_deps=(), worker_source=str(worker), import_path="kg:SAYS", **fields):
        return EnvironmentRequest(
            candidate=fields.pop("candidate", "kg@v1"),
            source=parse_source(source, ref=ref, base=tmp_path),
            extra_deps=tuple(parse_source(dep, ref=ref, base=tmp_path) for dep in extra_deps),
            worker=parse_source(worker_source, base=tmp_path),
            import_path=import_path,
            **fields,
        )

    return make


@pytest.fixture
def private_git(tmp_path):
    """A git server on this machine that asks for a user and a password."""
    with PrivateGit(tmp_path / "served", user="bob", password="to:k@n/1-s3cr3t") as server:
        yield server


@pytest.fixture
def gated(tmp_path) -> GatedProject:
    return GatedProject(tmp_path / "slow")
