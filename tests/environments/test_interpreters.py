import os
import platform
import sys
from pathlib import Path

import pytest

from bench_assets.environments.cache import default_cache_root
from bench_assets.environments.child_process import build_variables
from bench_assets.environments.interpreters import find_interpreter, this_interpreter
from bench_assets.errors import EnvironmentFailed
from tests.environments.projects import make_project, said_by


@pytest.fixture
def variables(environ):
    return build_variables(environ)


def other_pythons() -> list[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path("~/.pyenv").expanduser()) / "versions"
    own = ".".join(platform.python_version_tuple()[:2])
    found = (path for path in root.glob("3.*/bin/python") if not path.parts[-3].startswith(f"{own}."))
    return sorted(path for path in found if int(path.parts[-3].split(".")[1]) >= 9)


def test_the_own_python_is_taken_whenever_it_fits(variables):
    version = platform.python_version()
    for wanted in (None, version, version.rpartition(".")[0], str(sys.version_info.major)):
        assert find_interpreter(wanted, variables=variables) == this_interpreter()


def test_another_python_is_found_by_version_and_by_path(cache, ask, tmp_path, variables):
    if not (found := other_pythons()):
        pytest.skip("no second Python on this machine: install one with pyenv to run this")
    path = found[-1]
    version = path.parts[-3]
    assert find_interpreter(str(path), variables=variables).version == version
    make_project(tmp_path / "agent")
    default = cache.ensure(ask("./agent"))
    built = cache.ensure(ask("./agent", python=version))
    assert built.record.python == version
    assert built.record.fingerprint != default.record.fingerprint
    assert said_by(built.python) == "v1"
    assert cache.ensure(ask("./agent", python=version)).reused


def test_a_python_that_is_not_there_is_a_sentence_with_those_that_are(variables):
    with pytest.raises(EnvironmentFailed) as caught:
        find_interpreter("3.99", variables=variables)
    assert "Python `3.99` was asked for, but this machine has none. Found were `3." in str(caught.value)
    assert "UV_PYTHON_DOWNLOADS" in str(caught.value)
    with pytest.raises(EnvironmentFailed, match="this machine has none"):
        find_interpreter("--help", variables=variables)


def test_the_cache_lies_where_the_variables_say(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_root({"BENCH_CACHE_DIR": "/big"}) == Path("/big/environments")
    assert default_cache_root({"BENCHER_CACHE_DIR": "/big"}) == Path("/big/environments")
    assert default_cache_root({"XDG_CACHE_HOME": "/xdg"}) == Path("/xdg/bench-assets/environments")
    assert default_cache_root({"XDG_CACHE_HOME": "not/absolute"}) == tmp_path / ".cache/bench-assets/environments"
    assert default_cache_root({}) == tmp_path / ".cache/bench-assets/environments"
