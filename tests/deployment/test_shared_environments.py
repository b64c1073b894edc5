"""One environment for many machines: each has a cache of its own, and all have one store."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench_assets.environments.cache import EnvironmentCache, EnvironmentRequest
from bench_assets.environments.source import parse_source
from bench_assets.errors import EnvironmentFailed
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.shared_environments import SharedEnvironments
from bench_assets.storage.local import LocalStore
from tests.environments.conftest import environ, uv_cache
from tests.environments.projects import GatedProject, commit, git, make_project, said_by, wait_until

__all__ = ["environ", "uv_cache"]
"""Fixtures that pytest takes from here."""


class Machine:
    """A cache of its own, and what it said."""

    def __init__(self, folder, store, environ):
        self.said: list[str] = []
        self.cache = EnvironmentCache(folder, build_timeout_sec=120, environ=environ)
        reporter = LogReporter(self.said.append, detail=lambda _: None)
        self.shared = SharedEnvironments(self.cache, store, reporter=reporter)


@pytest.fixture
def machines(tmp_path, environ):
    """Make machines around one store."""
    store = LocalStore(tmp_path / "store")
    return lambda name: Machine(tmp_path / name, store, environ)


def request(source, *, base, candidate="kg@v1", import_path="kg:SAYS"):
    worker = make_project(base / "worker", name="bench-worker", says="worker")
    return EnvironmentRequest(
        candidate=candidate,
        source=parse_source(str(source), base=base),
        worker=parse_source(str(worker), base=base),
        import_path=import_path,
    )


def test_the_second_machine_restores_what_the_first_has_built(machines, tmp_path):
    repository = make_project(tmp_path / "kg", says="one")
    commit(repository)
    wanted = request(f"git+file://{repository}@main", base=tmp_path)
    first = machines("a").shared.ensure(wanted)
    second = machines("b").shared.ensure(request(f"git+file://{repository}@main", base=tmp_path, candidate="kg@v2"))
    assert (first.reused, second.reused) == (False, True)
    assert second.record.lock_digest == first.record.lock_digest
    assert (second.record.candidate, second.record.built_at) == ("kg@v2", first.record.built_at)
    assert second.python != first.python
    assert said_by(second.python) == "one"


def test_a_moved_branch_is_built_anew(machines, tmp_path):
    repository = make_project(tmp_path / "kg", says="one")
    commit(repository)
    machines("a").shared.ensure(request(f"git+file://{repository}@main", base=tmp_path))
    make_project(tmp_path / "kg", says="two")
    commit(repository)
    moved = machines("b").shared.ensure(request(f"git+file://{repository}@main", base=tmp_path))
    assert not moved.reused
    assert said_by(moved.python) == "two"
    assert git(repository, "rev-parse", "HEAD") == moved.record.source.commit


def test_many_machines_at_once_make_one_build(machines, tmp_path):
    gated = GatedProject(tmp_path / "slow")
    wanted = request(gated.path, base=tmp_path)
    four = [machines(name) for name in "abcd"]
    with ThreadPoolExecutor(max_workers=4) as pool:
        pending = [pool.submit(machine.shared.ensure, wanted) for machine in four]
        try:
            wait_until(lambda: sum(any("another machine builds" in line for line in m.said) for m in four) == 3)
            wait_until(lambda: gated.builds == 1)
        finally:
            gated.open()
        results = [one.result(timeout=120) for one in pending]
    assert sorted(result.reused for result in results) == [False, True, True, True]
    assert len({result.record.lock_digest for result in results}) == 1
    assert len({result.record.built_at for result in results}) == 1


def test_a_local_source_is_restored_where_it_is_not(machines, tmp_path):
    project = make_project(tmp_path / "kg", says="one")
    built = machines("a").shared.ensure(request(project, base=tmp_path))
    shutil.rmtree(project)
    python = machines("b").shared.restore(built.record, request=None)
    assert said_by(python) == "one"


def test_a_local_source_that_has_changed_here_is_taken_from_the_store(machines, tmp_path):
    project = make_project(tmp_path / "kg", says="one")
    built = machines("a").shared.ensure(request(project, base=tmp_path))
    make_project(project, says="changed since")
    python = machines("b").shared.restore(built.record, request=request(project, base=tmp_path))
    assert said_by(python) == "one"


def test_a_source_with_a_sibling_is_restored_with_it(machines, tmp_path):
    make_project(tmp_path / "mono" / "core", name="core", says="core")
    more = '[tool.uv.sources]\ncore = {path = "../core"}\n'
    project = make_project(tmp_path / "mono" / "kg", says="one", dependencies=["core"], more=more)
    built = machines("a").shared.ensure(request(project, base=tmp_path))
    shutil.rmtree(tmp_path / "mono")
    python = machines("b").shared.restore(built.record, request=None)
    assert (said_by(python), said_by(python, "core")) == ("one", "core")


@pytest.mark.parametrize("sibling", [False, True], ids=["alone", "with a sibling"])
def test_an_environment_found_for_an_equal_tree_under_another_path_is_restored_elsewhere(tmp_path, environ, sibling):
    more = '[tool.uv.sources]\ncore = {path = "../core"}\n' if sibling else ""
    for place in ("before", "now"):
        make_project(tmp_path / place / "core", name="core", says="core")
        make_project(tmp_path / place / "kg", says="one", dependencies=["core"] if sibling else [], more=more)
    old, new = (LocalStore(tmp_path / name) for name in ("old store", "new store"))
    Machine(tmp_path / "a", old, environ).shared.ensure(request(tmp_path / "before" / "kg", base=tmp_path))
    found = Machine(tmp_path / "a", new, environ).shared.ensure(request(tmp_path / "now" / "kg", base=tmp_path))
    assert found.reused
    assert str(tmp_path / "before") in found.record.lock
    for place in ("before", "now"):
        shutil.rmtree(tmp_path / place)
    python = Machine(tmp_path / "b", new, environ).shared.restore(found.record, request=None)
    assert said_by(python) == "one"


def test_a_stored_source_that_was_changed_is_not_used(machines, tmp_path):
    project = make_project(tmp_path / "kg", says="one")
    built = machines("a").shared.ensure(request(project, base=tmp_path))
    other = make_project(tmp_path / "other", says="evil")
    foreign = machines("c").shared.ensure(request(other, base=tmp_path))
    sources = tmp_path / "store" / "environments" / "sources"
    (sources / f"{foreign.record.source.tree}.tar.gz").rename(sources / f"{built.record.source.tree}.tar.gz")
    shutil.rmtree(project)
    with pytest.raises(EnvironmentFailed):
        machines("b").shared.restore(built.record, request=None)
