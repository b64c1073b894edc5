import os
import shutil

import pytest

from bench_assets.environments.cache import EnvironmentCache, EnvironmentRequest, default_worker_source
from bench_assets.environments.source import parse_source
from bench_assets.errors import EnvironmentFailed, InvalidAgent
from tests.environments.projects import commit, git, make_project, make_wheel, said_by


def test_an_environment_is_built_once_and_found_again_within_50_ms(cache, ask, tmp_path):
    make_project(tmp_path / "agent", name="kg", says="v1")
    first = cache.ensure(ask("./agent"))
    assert (first.reused, said_by(first.python), said_by(first.python, "bench_worker")) == (False, "v1", "worker")
    fastest = min((cache.ensure(ask("./agent")) for _ in range(5)), key=lambda built: built.seconds)
    assert fastest.reused
    assert fastest.python == first.python
    assert fastest.seconds < 0.05


def test_the_worker_that_comes_with_bench_assets_can_be_installed(cache, tmp_path):
    make_project(tmp_path / "agent")
    request = EnvironmentRequest(
        candidate="kg@v1",
        source=parse_source("./agent", base=tmp_path),
        worker=default_worker_source(),
        entry_point="kg",
    )
    built = cache.ensure(request)
    assert "bench-worker @ file://" in built.record.lock
    assert built.record.connection == ["--entry-point", "kg"]


def test_the_record_tells_what_was_built(cache, ask, tmp_path):
    make_project(tmp_path / "agent")
    head = commit(tmp_path / "agent")
    clean = cache.ensure(ask("./agent", candidate="kg@one")).record
    assert (clean.source.kind, clean.source.commit, clean.source.dirty) == ("local", head, False)
    assert clean.lock.splitlines() == [
        f"bench-worker @ {(tmp_path / 'worker').as_uri()}",
        f"kg @ {(tmp_path / 'agent').as_uri()}",
    ]
    assert clean.package_count == 2
    again = cache.ensure(ask("./agent", candidate="kg@two"))
    assert (again.reused, again.record.candidate) == (True, "kg@two")
    assert again.record.fingerprint == clean.fingerprint
    (tmp_path / "agent" / "src" / "kg" / "new.py").touch()
    dirty = cache.ensure(ask("./agent"))
    assert (dirty.reused, dirty.record.source.commit, dirty.record.source.dirty) == (False, head, True)
    assert dirty.record.fingerprint != clean.fingerprint


def test_what_decides_an_environment_is_in_its_fingerprint(cache, ask, tmp_path):
    make_project(tmp_path / "agent")
    make_project(tmp_path / "tool", name="tool")
    make_project(tmp_path / "other-worker", name="bench-worker", says="other")
    fingerprints = [
        cache.ensure(request).record.fingerprint
        for request in (
            ask("./agent"),
            ask("./agent", import_path="kg:OTHER"),
            ask("./agent", extra_deps=["./tool"]),
            ask("./agent", worker_source="./other-worker"),
        )
    ]
    assert len(set(fingerprints)) == 4


def test_two_trees_with_the_same_content_share_an_environment(cache, ask, tmp_path):
    make_project(tmp_path / "agent")
    shutil.copytree(tmp_path / "agent", tmp_path / "elsewhere")
    cache.ensure(ask("./agent"))
    built = cache.ensure(ask("./elsewhere"))
    assert built.reused
    assert built.record.source.requirement == str(tmp_path / "elsewhere")


def test_a_build_does_not_write_into_the_users_tree(cache, ask, gated):
    gated.open()
    before = sorted(gated.path.rglob("*"))
    built = cache.ensure(ask(str(gated.path)))
    assert said_by(built.python) == "slow"
    assert sorted(gated.path.rglob("*")) == before


def test_a_project_that_takes_its_version_from_git_finds_its_repository(cache, ask, tmp_path):
    agent = make_project(tmp_path / "mono" / "agent")
    (agent / "backend.py").write_text(
        "import subprocess\n"
        "from uv_build_stub import make\n"
        "def build_wheel(directory, config_settings=None, metadata_directory=None):\n"
        "    tag = subprocess.run(['git', 'describe', '--tags'], capture_output=True, text=True, check=True)\n"
        "    return make(directory, tag.stdout.strip())\n",
        encoding="utf-8",
    )
    (agent / "uv_build_stub.py").write_text(WHEEL_MAKER, encoding="utf-8")
    (agent / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "kg"\ndynamic = ["version"]\n',
        encoding="utf-8",
    )
    commit(tmp_path / "mono")
    git(tmp_path / "mono", "tag", "3.4.5")
    assert said_by(cache.ensure(ask("./mono/agent")).python) == "3.4.5"
    assert git(tmp_path / "mono", "status", "--porcelain") == ""


WHEEL_MAKER = """
import zipfile
from pathlib import Path

def make(directory, version):
    info = f"kg-{version}.dist-info"
    name = f"kg-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(directory) / name, "w") as archive:
        archive.writestr("kg.py", f"SAYS = {version!r}")
        archive.writestr(info + "/METADATA", f"Metadata-Version: 2.1\\nName: kg\\nVersion: {version}\\n")
        archive.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "/RECORD", "")
    return name
"""


def test_a_sibling_that_a_project_names_is_installed_and_watched(cache, ask, tmp_path):
    make_project(tmp_path / "mono" / "packages" / "kg", says="v1")
    runtime = make_project(
        tmp_path / "mono" / "packages" / "runtime",
        name="runtime",
        dependencies=["kg"],
        more='[tool.uv.sources]\nkg = { path = "../kg" }\n',
    )
    first = cache.ensure(ask(str(runtime)))
    assert said_by(first.python) == "v1"
    make_project(tmp_path / "mono" / "packages" / "kg", says="v2")
    second = cache.ensure(ask(str(runtime)))
    assert (second.reused, said_by(second.python)) == (False, "v2")
    both = cache.ensure(ask(str(runtime), extra_deps=["./mono/packages/kg"]))
    assert said_by(both.python) == "v2"


def test_a_workspace_member_brings_its_workspace(cache, ask, tmp_path):
    top = tmp_path / "mono"
    make_project(top / "packages" / "kg", says="v1")
    make_project(
        top / "packages" / "runtime",
        name="runtime",
        dependencies=["kg"],
        more="[tool.uv.sources]\nkg = { workspace = true }\n",
    )
    (top / "pyproject.toml").write_text('[tool.uv.workspace]\nmembers = ["packages/*"]\n', encoding="utf-8")
    assert said_by(cache.ensure(ask("./mono/packages/runtime")).python) == "v1"
    make_project(top / "packages" / "kg", says="v2")
    assert said_by(cache.ensure(ask("./mono/packages/runtime")).python) == "v2"


def test_an_archive_is_known_by_its_content(cache, ask, tmp_path):
    wheel = make_wheel(tmp_path, name="kg", version="1.0")
    assert said_by(cache.ensure(ask("./kg-1.0-py3-none-any.whl")).python) == "1.0"
    assert cache.ensure(ask(f"kg @ {wheel.as_uri()}")).reused
    make_wheel(tmp_path, name="kg", version="1.0", says="changed")
    assert said_by(cache.ensure(ask(f"kg @ {wheel.as_uri()}")).python) == "changed"


def test_extras_bring_their_dependencies(cache, ask, tmp_path, environ):
    environ["UV_FIND_LINKS"] = str(tmp_path / "wheels")
    make_wheel(tmp_path / "wheels", name="webby", version="2.0")
    make_project(tmp_path / "agent", more='[project.optional-dependencies]\nweb = ["webby"]\n')
    commit(tmp_path / "agent")
    for source in ("./agent[web]", "kg[web] @ git+file:agent@main"):
        assert "webby==2.0" in cache.ensure(ask(source)).record.lock
    assert "webby" not in cache.ensure(ask("./agent")).record.lock


def test_a_new_release_of_an_unpinned_requirement_is_a_new_environment(cache, ask, tmp_path, environ):
    environ["UV_FIND_LINKS"] = str(tmp_path / "wheels")
    make_wheel(tmp_path / "wheels", name="kg", version="1.0")
    old = cache.ensure(ask("kg"))
    assert (said_by(old.python), old.record.source.requirement) == ("1.0", "kg==1.0")
    pinned = cache.ensure(ask("kg==1.0"))
    assert cache.ensure(ask("kg>=1,<2")).record.source.requirement == "kg==1.0"
    make_wheel(tmp_path / "wheels", name="kg", version="2.0")
    new = cache.ensure(ask("kg"))
    assert (new.reused, said_by(new.python), new.record.source.requirement) == (False, "2.0", "kg==2.0")
    assert cache.ensure(ask("kg==1.0")).python == pinned.python


def test_everything_is_resolved_together_and_a_conflict_is_one_sentence(cache, ask, tmp_path, environ):
    environ["UV_FIND_LINKS"] = str(tmp_path / "wheels")
    for version in ("1.0", "2.0"):
        make_wheel(tmp_path / "wheels", name="shared", version=version)
    make_project(tmp_path / "agent", dependencies=["shared<2"])
    built = cache.ensure(ask("./agent", extra_deps=["shared"]))
    assert built.record.extra_deps[0].requirement == "shared==1.0"
    with pytest.raises(EnvironmentFailed) as caught:
        cache.ensure(ask("./agent", extra_deps=["shared==2.0"]))
    assert "`kg@v1` could not be built: installing failed" in str(caught.value)
    assert "shared==2.0" in str(caught.value)
    assert "sources" not in str(caught.value)


def test_a_failed_build_leaves_nothing_behind_and_the_next_one_may_succeed(cache, ask, tmp_path, lines):
    make_project(tmp_path / "agent", dependencies=["nowhere-to-be-found"])
    with pytest.raises(EnvironmentFailed, match="nowhere-to-be-found"):
        cache.ensure(ask("./agent"))
    assert list(cache.root.glob("*/*/")) == []
    make_project(tmp_path / "agent")
    assert cache.ensure(ask("./agent")).reused is False


def test_a_worker_that_cannot_be_imported_fails_the_build(cache, ask, tmp_path):
    make_project(tmp_path / "agent")
    make_project(tmp_path / "broken", name="bench-worker", says='"\nraise RuntimeError("no worker today")\n"')
    with pytest.raises(EnvironmentFailed, match=r"bench_worker` cannot be imported(.|\n)*no worker today"):
        cache.ensure(ask("./agent", worker_source="./broken"))


def test_invalidating_builds_anew_and_leaves_the_old_one_to_those_who_use_it(cache, ask, tmp_path, environ):
    make_project(tmp_path / "agent")
    old = cache.ensure(ask("./agent"))
    with EnvironmentCache(cache.root, environ=environ) as other:
        new = other.ensure(ask("./agent"), invalidate=True)
        assert (new.reused, new.record.fingerprint) == (False, old.record.fingerprint)
        assert new.python != old.python
        assert said_by(old.python) == "v1"
        assert cache.ensure(ask("./agent")).python == new.python
        cache.close()
        newest = other.ensure(ask("./agent"), invalidate=True)
        assert not old.python.exists()
        assert new.python.exists(), "this process was handed it and may run it"
    assert cache.ensure(ask("./agent")).python == newest.python


def test_a_failed_invalidation_keeps_the_old_environment(cache, ask, tmp_path, environ):
    environ["UV_FIND_LINKS"] = str(tmp_path / "wheels")
    wheel = make_wheel(tmp_path / "wheels", name="shared", version="1.0")
    make_project(tmp_path / "agent", dependencies=["shared"])
    old = cache.ensure(ask("./agent"))
    wheel.unlink()
    with pytest.raises(EnvironmentFailed):
        cache.ensure(ask("./agent"), invalidate=True)
    assert cache.ensure(ask("./agent")).python == old.python


def test_an_environment_that_someone_installed_into_is_built_anew(cache, ask, tmp_path, lines):
    make_project(tmp_path / "agent")
    old = cache.ensure(ask("./agent"))
    site = next((old.python.parent.parent / "lib").glob("python*/site-packages"))
    shutil.unpack_archive(make_wheel(tmp_path, name="intruder", version="1.0"), site, format="zip")
    new = cache.ensure(ask("./agent"))
    assert (new.reused, new.python != old.python) == (False, True)
    assert old.python.exists(), "this process was handed it and may run it"
    assert any("is not used: it is no longer what was built: it is with `intruder==1.0`" in line for line in lines)


def test_an_environment_whose_python_was_replaced_is_checked_and_kept_when_it_still_works(cache, ask, tmp_path):
    make_project(tmp_path / "agent")
    old = cache.ensure(ask("./agent"))
    # The same version from another file: what an upgrade or another image looks like.
    real = shutil.copy2(old.python.resolve(), tmp_path / "copied-python")
    os.utime(real, ns=(1, 1))
    old.python.unlink()
    old.python.symlink_to(real)
    assert cache.ensure(ask("./agent")).reused
    old.python.unlink()
    old.python.symlink_to(tmp_path / "gone")
    assert cache.ensure(ask("./agent")).reused is False


def test_a_tree_that_changes_while_it_is_copied_is_taken_as_it_then_is(ask, tmp_path, environ):
    agent = make_project(tmp_path / "agent", says="v1")
    edits = iter(["v2"])

    def edit(line):
        if line.startswith("Building the environment") and (says := next(edits, None)):
            make_project(agent, says=says)

    with EnvironmentCache(tmp_path / "cache", on_line=edit, environ=environ) as cache:
        assert said_by(cache.ensure(ask("./agent")).python) == "v2"
        assert cache.ensure(ask("./agent")).reused


def test_neither_python_settings_nor_our_own_variables_reach_a_build(cache, ask, tmp_path, environ):
    agent = make_project(tmp_path / "agent")
    (agent / "backend.py").write_text(
        "import os\nfrom wheel_maker import make\n"
        "def build_wheel(directory, config_settings=None, metadata_directory=None):\n"
        "    seen = [n for n in sorted(os.environ) if n.startswith(('BENCH', 'DAGSTER', 'OTHER', 'PYTHONPATH'))]\n"
        "    return make(directory, '1.' + str(len(seen)) + ('' if seen == ['OTHER_SETTING'] else '99'))\n",
        encoding="utf-8",
    )
    (agent / "wheel_maker.py").write_text(WHEEL_MAKER, encoding="utf-8")
    (agent / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "kg"\ndynamic = ["version"]\n',
        encoding="utf-8",
    )
    names = ("BENCH_POSTGRES_URL", "BENCHER_LLM_JUDGE_KWARGS", "DAGSTER_HOME", "PYTHONPATH", "VIRTUAL_ENV", "UV_PYTHON")
    environ |= dict.fromkeys((*names, "OTHER_SETTING"), "/nowhere")
    assert said_by(cache.ensure(ask("./agent")).python) == "1.1"


def test_a_request_without_a_way_to_the_adapter_is_refused(ask, tmp_path):
    make_project(tmp_path / "agent")
    with pytest.raises(InvalidAgent, match="neither an entry point nor an import path"):
        ask("./agent", import_path=None)
    with pytest.raises(InvalidAgent, match="both an entry point and an import path"):
        ask("./agent", entry_point="kg")


def test_a_cache_folder_that_cannot_be_made_is_a_sentence(ask, tmp_path, environ):
    make_project(tmp_path / "agent")
    (tmp_path / "file").touch()
    cache = EnvironmentCache(tmp_path / "file" / "cache", environ=environ)
    with pytest.raises(EnvironmentFailed, match="BENCH_CACHE_DIR"):
        cache.ensure(ask("./agent"))


def test_paths_with_unusual_characters_stay_out_of_the_way(ask, tmp_path, environ):
    make_project(tmp_path / "my [best] agent, 100% ü")
    with EnvironmentCache(tmp_path / "a cache [1] ü", environ=environ) as cache:
        built = cache.ensure(ask("./my [best] agent, 100% ü"))
    assert said_by(built.python) == "v1"
    assert "a%20cache" not in built.record.lock
    assert (tmp_path / "my [best] agent, 100% ü").as_uri() in built.record.lock


def test_a_folder_that_git_ignores_has_no_commit(cache, ask, tmp_path):
    make_project(tmp_path / "repo" / "ignored")
    (tmp_path / "repo" / ".gitignore").write_text("ignored/\n", encoding="utf-8")
    commit(tmp_path / "repo")
    assert cache.ensure(ask("./repo/ignored")).record.source.commit is None
