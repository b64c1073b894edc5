import shutil

import pytest

from bench_assets.environments.cache import EnvironmentCache
from bench_assets.errors import EnvironmentFailed
from tests.environments.projects import commit, git, make_project, make_wheel, said_by


@pytest.fixture
def elsewhere(tmp_path, environ):
    """The cache of another machine."""
    with EnvironmentCache(tmp_path / "elsewhere", build_timeout_sec=60, environ=environ) as cache:
        yield cache


@pytest.fixture
def wheels(tmp_path, environ):
    environ["UV_FIND_LINKS"] = str(tmp_path / "wheels")
    make_wheel(tmp_path / "wheels", name="shared", version="1.0")
    return tmp_path / "wheels"


def test_an_environment_comes_back_from_its_lock_and_not_from_newer_releases(cache, elsewhere, ask, tmp_path, wheels):
    make_project(tmp_path / "agent", dependencies=["shared"])
    commit(tmp_path / "agent")
    git(tmp_path / "agent", "tag", "v1")
    request = ask("git+file:agent@v1", extra_deps=["shared"])
    record = cache.ensure(request).record
    assert elsewhere.open(record) is None
    make_wheel(wheels, name="shared", version="2.0")
    python = elsewhere.restore(record, request=request)
    assert (said_by(python), said_by(python, "shared")) == ("v1", "1.0")
    assert elsewhere.open(record) == python
    assert elsewhere.restore(record, request=request) == python


def test_a_restored_environment_is_found_by_the_same_request(cache, elsewhere, ask, tmp_path):
    make_project(tmp_path / "agent")
    record = cache.ensure(ask("./agent")).record
    python = elsewhere.restore(record, request=ask("./agent"))
    again = elsewhere.ensure(ask("./agent"))
    assert (again.reused, again.python, again.record.lock_digest) == (True, python, record.lock_digest)


def test_an_environment_with_another_lock_is_not_taken_for_the_recorded_one(cache, elsewhere, ask, tmp_path, wheels):
    make_project(tmp_path / "agent", dependencies=["shared"])
    old = cache.ensure(ask("./agent"))
    make_wheel(wheels, name="shared", version="2.0")
    new = elsewhere.ensure(ask("./agent"))
    assert new.record.fingerprint == old.record.fingerprint
    assert elsewhere.open(old.record) is None
    restored = elsewhere.restore(old.record, request=ask("./agent"))
    assert (said_by(restored, "shared"), said_by(new.python, "shared")) == ("1.0", "2.0")
    assert elsewhere.ensure(ask("./agent")).python == new.python


def test_local_sources_may_lie_elsewhere_when_their_content_is_the_same(cache, elsewhere, ask, tmp_path):
    make_project(tmp_path / "mono" / "kg")
    sources = '[tool.uv.sources]\nkg = { path = "../kg" }\n'
    make_project(tmp_path / "mono" / "runtime", name="runtime", dependencies=["kg"], more=sources)
    record = cache.ensure(ask("./mono/runtime")).record
    shutil.move(tmp_path / "mono", tmp_path / "moved")
    with pytest.raises(EnvironmentFailed, match=r"cannot be restored here.*there is no"):
        elsewhere.restore(record)
    assert said_by(elsewhere.restore(record, request=ask("./moved/runtime"))) == "v1"


def test_changed_local_sources_are_refused(cache, elsewhere, ask, tmp_path):
    make_project(tmp_path / "agent")
    record = cache.ensure(ask("./agent")).record
    make_project(tmp_path / "agent", says="v2")
    with pytest.raises(EnvironmentFailed, match="its files have changed since"):
        elsewhere.restore(record, request=ask("./agent"))
    with pytest.raises(EnvironmentFailed, match="is given to restore it"):
        elsewhere.restore(record, request=ask("kg==1.0"))


def test_another_platform_or_python_is_refused(cache, elsewhere, ask, tmp_path):
    make_project(tmp_path / "agent")
    record = cache.ensure(ask("./agent")).record
    with pytest.raises(EnvironmentFailed, match="`plan9-mips`"):
        elsewhere.restore(record.model_copy(update={"platform": "plan9-mips"}), request=ask("./agent"))
    with pytest.raises(EnvironmentFailed, match=r"Python `3\.99\.0` was asked for, but this machine has none"):
        elsewhere.restore(record.model_copy(update={"python": "3.99.0"}), request=ask("./agent"))


def test_a_lock_that_cannot_be_met_leaves_nothing_behind(cache, elsewhere, ask, tmp_path, wheels):
    make_project(tmp_path / "agent", dependencies=["shared"])
    record = cache.ensure(ask("./agent")).record
    (wheels / "shared-1.0-py3-none-any.whl").unlink()
    with pytest.raises(EnvironmentFailed, match=r"shared==1\.0"):
        elsewhere.restore(record, request=ask("./agent"))
    assert list(elsewhere.root.glob("*/*/")) == []


def test_the_record_alone_is_enough_where_its_sources_can_be_reached(cache, elsewhere, ask, tmp_path):
    make_project(tmp_path / "agent")
    head = commit(tmp_path / "agent")
    shutil.copytree(tmp_path / "worker", tmp_path / "worker-repo")
    commit(tmp_path / "worker-repo")
    record = cache.ensure(ask("git+file:agent", worker_source="git+file:worker-repo")).record
    make_project(tmp_path / "agent", says="v2")
    commit(tmp_path / "agent")
    assert said_by(elsewhere.restore(record)) == "v1"
    assert record.source.commit == head
