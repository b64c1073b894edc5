import shutil
import time

import pytest

from bench_assets.errors import EnvironmentFailed
from tests.environments.projects import commit, git, make_project, said_by


@pytest.fixture
def repository(tmp_path):
    """A repository with tag v1, and a newer commit on main."""
    folder = tmp_path / "repo"
    make_project(folder / "packages" / "kg", says="v1")
    commit(folder)
    git(folder, "tag", "--annotate", "-m", "first", "v1")
    make_project(folder / "packages" / "kg", says="v2")
    commit(folder)
    return folder


def test_a_tag_a_branch_and_the_default_branch_are_resolved_to_commits(cache, ask, repository):
    tag = cache.ensure(ask("git+file:repo@{ref}#subdirectory=packages/kg", ref="v1"))
    assert said_by(tag.python) == "v1"
    assert tag.record.source.commit == git(repository, "rev-parse", "v1^{commit}")
    assert (tag.record.source.ref, tag.record.source.dirty) == ("v1", None)
    branch = cache.ensure(ask("git+file:repo@main#subdirectory=packages/kg"))
    assert said_by(branch.python) == "v2"
    default = cache.ensure(ask("git+file:repo#subdirectory=packages/kg"))
    assert (default.reused, default.record.source.ref) == (True, None)
    assert default.record.source.commit == git(repository, "rev-parse", "main")


def test_a_commit_is_taken_whole_or_abbreviated(cache, ask, repository):
    first = git(repository, "rev-parse", "v1^{commit}")
    whole = cache.ensure(ask(f"git+file:repo@{first}#subdirectory=packages/kg"))
    assert said_by(whole.python) == "v1"
    for ref in (first[:10], "refs/tags/v1"):
        short = cache.ensure(ask(f"git+file:repo@{ref}#subdirectory=packages/kg"))
        assert (short.reused, short.record.source.commit) == (True, first)
    with pytest.raises(EnvironmentFailed, match="no branch, tag or commit `0000000`"):
        cache.ensure(ask("git+file:repo@0000000#subdirectory=packages/kg"))


def test_an_abbreviated_commit_behind_the_tips_is_found(cache, ask, repository):
    git(repository, "tag", "--delete", "v1")
    first = git(repository, "rev-parse", "main~1")
    assert said_by(cache.ensure(ask(f"git+file:repo@{first[:8]}#subdirectory=packages/kg")).python) == "v1"


def test_a_moved_branch_is_a_new_environment_and_each_record_has_its_commit(cache, ask, repository):
    before = cache.ensure(ask("git+file:repo@main#subdirectory=packages/kg"))
    make_project(repository / "packages" / "kg", says="v3")
    commit(repository)
    after = cache.ensure(ask("git+file:repo@main#subdirectory=packages/kg"))
    assert (said_by(before.python), said_by(after.python), after.reused) == ("v2", "v3", False)
    assert before.record.source.commit == git(repository, "rev-parse", "main~1")
    assert after.record.source.commit == git(repository, "rev-parse", "main")


def test_a_branch_with_slashes_works(cache, ask, repository):
    git(repository, "branch", "feature/x-1", "v1")
    assert said_by(cache.ensure(ask("git+file:repo@feature/x-1#subdirectory=packages/kg")).python) == "v1"


def test_a_missing_ref_names_those_that_exist_and_works_once_it_is_there(cache, ask, repository):
    with pytest.raises(EnvironmentFailed) as caught:
        cache.ensure(ask("git+file:repo@v9#subdirectory=packages/kg"))
    assert "no branch, tag or commit `v9`. It has `v1`, `main`." in str(caught.value)
    git(repository, "tag", "v9")
    built = cache.ensure(ask("git+file:repo@v9#subdirectory=packages/kg"))
    assert (built.reused, said_by(built.python)) == (False, "v2")


def test_a_name_that_is_a_tag_and_a_branch_is_refused_unless_they_agree(cache, ask, repository):
    git(repository, "branch", "v1", "main")
    with pytest.raises(EnvironmentFailed, match=r"both a tag and a branch.*refs/tags/v1"):
        cache.ensure(ask("git+file:repo@v1#subdirectory=packages/kg"))
    assert said_by(cache.ensure(ask("git+file:repo@refs/tags/v1#subdirectory=packages/kg")).python) == "v1"
    git(repository, "tag", "main", "main")
    assert said_by(cache.ensure(ask("git+file:repo@main#subdirectory=packages/kg")).python) == "v2"


def test_a_second_package_of_the_same_repository_can_be_an_extra_dependency(cache, ask, repository):
    runtime = make_project(repository / "packages" / "runtime", name="runtime", dependencies=["kg"])
    (runtime / "pyproject.toml").write_text(
        (runtime / "pyproject.toml").read_text() + '[tool.uv.sources]\nkg = { path = "../kg" }\n', encoding="utf-8"
    )
    commit(repository)
    git(repository, "tag", "both")
    built = cache.ensure(
        ask(
            "git+file:repo@{ref}#subdirectory=packages/runtime",
            ref="both",
            extra_deps=["git+file:repo@{ref}#subdirectory=packages/kg"],
        )
    )
    assert said_by(built.python) == "v2"
    assert built.record.extra_deps[0].commit == built.record.source.commit


def test_a_folder_that_is_no_repository_is_a_sentence(cache, ask, tmp_path):
    make_project(tmp_path / "plain")
    with pytest.raises(EnvironmentFailed, match="There is no git repository"):
        cache.ensure(ask("git+file:plain@v1"))


@pytest.fixture
def served(private_git, repository):
    git(repository.parent, "clone", "--quiet", "--bare", str(repository), str(private_git.root / "kg.git"))
    return private_git


def test_credentials_in_a_url_open_a_private_repository_and_are_written_nowhere(cache, ask, served, lines, uv_cache):
    source = f"git+http://bob:to%3Ak%40n%2F1-s3cr3t@{served.host}/kg.git@v1#subdirectory=packages/kg"
    built = cache.ensure(ask(source))
    assert said_by(built.python) == "v1"
    assert built.record.source.text == f"git+http://{served.host}/kg.git@v1#subdirectory=packages/kg"
    texts = [*lines, str(built), built.record.model_dump_json()]
    for root in (cache.root, uv_cache):
        texts += [path.read_text("utf-8", "replace") for path in root.rglob("*") if path.is_file()]
    basic = next(filter(None, served.seen)).removeprefix("Basic ")
    assert not [text for text in texts if "s3cr3t" in text or basic in text]


def test_a_password_is_never_an_argument_of_a_process(cache, ask, served, tmp_path, environ):
    log = log_git(tmp_path, environ)  # arguments are what everybody on the machine can read
    cache.ensure(ask(f"git+http://bob:to%3Ak%40n%2F1-s3cr3t@{served.host}/kg.git@v1#subdirectory=packages/kg"))
    assert "ls-remote" in log.read_text()
    assert "fetch" in log.read_text()
    assert "s3cr3t" not in log.read_text()


def test_two_packages_of_one_repository_are_looked_up_once(cache, ask, repository, tmp_path, environ):
    log = log_git(tmp_path, environ)
    make_project(repository / "packages" / "tool", name="tool")
    commit(repository)
    cache.ensure(
        ask("git+file:repo@main#subdirectory=packages/kg", extra_deps=["git+file:repo@main#subdirectory=packages/tool"])
    )
    assert log.read_text().count("ls-remote") == 1


def log_git(folder, environ):
    """Put a git of our own in front of the real one; return the file in which it writes its arguments."""
    log = folder / "arguments"
    wrapper = folder / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    environ["PATH"] = f"{wrapper.parent}:{environ['PATH']}"
    return log


@pytest.mark.parametrize("user_info", ["", "bob:wrong-s3cr3t@", "bob@"])
def test_missing_or_wrong_credentials_fail_in_seconds_without_a_question(cache, ask, served, user_info):
    started = time.monotonic()
    with pytest.raises(EnvironmentFailed, match="Authentication failed") as caught:
        cache.ensure(ask(f"git+http://{user_info}{served.host}/kg.git@v1#subdirectory=packages/kg"))
    assert time.monotonic() - started < 10
    assert "s3cr3t" not in str(caught.value)
    assert f"`http://{served.host}/kg.git`" in str(caught.value)


def test_a_netrc_is_honoured_with_and_without_a_user_in_the_url(cache, ask, served, tmp_path, environ):
    netrc = tmp_path / "home" / ".netrc"
    netrc.write_text("machine 127.0.0.1 login bob password to:k@n/1-s3cr3t\n", encoding="utf-8")
    netrc.chmod(0o600)
    for user_info in ("", "bob@"):
        built = cache.ensure(ask(f"git+http://{user_info}{served.host}/kg.git@v1#subdirectory=packages/kg"))
        assert said_by(built.python) == "v1"
    wins = f"git+http://bob:to%3Ak%40n%2F1-s3cr3t@{served.host}/kg.git@main#subdirectory=packages/kg"
    netrc.write_text("machine 127.0.0.1 login bob password outdated\n", encoding="utf-8")
    assert said_by(cache.ensure(ask(wins)).python) == "v2"


def test_a_token_may_stand_where_the_user_does(cache, ask, served):
    served.user, served.password = "token-s3cr3t", ""
    built = cache.ensure(ask(f"git+http://token-s3cr3t@{served.host}/kg.git@v1#subdirectory=packages/kg"))
    assert said_by(built.python) == "v1"


def test_two_repositories_of_one_host_have_their_own_credentials(cache, ask, served, tmp_path):
    tool = make_project(tmp_path / "tool", name="tool", says="tool")
    commit(tool)
    git(tmp_path, "clone", "--quiet", "--bare", str(tool), str(served.root / "tool.git"))
    served.passwords = {"/kg.git": "first-s3cr3t", "/tool.git": "other-s3cr3t"}
    built = cache.ensure(
        ask(
            f"git+http://bob:first-s3cr3t@{served.host}/kg.git@v1#subdirectory=packages/kg",
            extra_deps=[f"git+http://bob:other-s3cr3t@{served.host}/tool.git"],
        )
    )
    assert (said_by(built.python), said_by(built.python, "tool")) == ("v1", "tool")


def test_settings_that_a_user_gave_git_by_variables_stay(cache, ask, repository, environ):
    environ |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": "http://mirror.example.org/kg.git",
    }
    source = "git+http://bob:unused-s3cr3t@mirror.example.org/kg.git@v1#subdirectory=packages/kg"
    assert said_by(cache.ensure(ask(source)).python) == "v1"


def test_an_ssh_server_that_would_ask_fails_with_a_sentence(cache, ask):
    started = time.monotonic()
    with pytest.raises(EnvironmentFailed, match=r"ssh://git@127.0.0.1:1/kg.git"):
        cache.ensure(ask("git+ssh://git@127.0.0.1:1/kg.git@v1"))
    assert time.monotonic() - started < 20
