import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_assets.environments.source import GitSource, LocalSource, RequirementSource, parse_source
from bench_assets.errors import InvalidAgent
from tests.environments.projects import make_project, make_wheel

HERE = Path("/")


@pytest.mark.parametrize(
    ("text", "url", "ref", "subdirectory"),
    [
        (
            "git+ssh://git@git.example.org/t/r.git@feature/x-1#egg=a&subdirectory=packages/a",
            "ssh://git@git.example.org/t/r.git",
            "feature/x-1",
            "packages/a",
        ),
        ("git+https://h.org/t/r.git#subdirectory=packages/a", "https://h.org/t/r.git", None, "packages/a"),
        ("git+https://h.org/t/r.git#subdirectory=packages/a&egg=a", "https://h.org/t/r.git", None, "packages/a"),
        ("git+https://u@h.org/t/r.git@main", "https://h.org/t/r.git", "main", None),
        ("git+https://u:p%40w@h.org:8443/t/r.git@agent@1.2.0", "https://h.org:8443/t/r.git", "agent@1.2.0", None),
        ("git+https://h.org/@scope/r", "https://h.org/@scope/r", None, None),
        ("git+https://h.org/@scope/r@v1", "https://h.org/@scope/r", "v1", None),
        ("git+http://[::1]:80/r@v1", "http://[::1]:80/r", "v1", None),
        ("git+https://h.org/r.git@issue%23-7", "https://h.org/r.git", "issue#-7", None),
        ("git+https://h.org/r.git@refs/heads/main", "https://h.org/r.git", "refs/heads/main", None),
    ],
)
def test_a_git_url_comes_apart_whatever_the_order_of_its_parts(text, url, ref, subdirectory):
    source = parse_source(text, base=HERE)
    assert isinstance(source, GitSource)
    assert (source.url, source.ref, source.subdirectory) == (url, ref, subdirectory)


def test_a_git_source_can_name_its_distribution_and_extras():
    text = "my-agent[graph, web] @ git+https://git.example.org/t/r.git@v1#subdirectory=packages/a"
    source = parse_source(text, base=HERE)
    assert isinstance(source, GitSource)
    assert (source.name, source.extras) == ("my-agent", ("graph", "web"))
    assert (source.url, source.ref, source.subdirectory) == ("https://git.example.org/t/r.git", "v1", "packages/a")
    assert source.at("c" * 40) == (
        f"my-agent[graph,web] @ git+https://git.example.org/t/r.git@{'c' * 40}#subdirectory=packages/a"
    )
    egg = parse_source("git+https://h.org/r.git#egg=my_agent[graph]", base=HERE)
    assert isinstance(egg, GitSource)
    assert (egg.name, egg.extras) == ("my_agent", ("graph",))


def test_credentials_are_kept_apart_and_shown_nowhere():
    source = parse_source("git+https://user:s3cr3t@git.example.org/team/agent.git@main", base=HERE)
    assert isinstance(source, GitSource)
    assert source.redacted == "git+https://git.example.org/team/agent.git@main"
    assert source.credentials is not None
    assert (source.credentials.user, source.credentials.password) == ("user", "s3cr3t")
    assert "s3cr3t" not in repr(source) + str(source) + source.url + source.at("c" * 40)
    wheel = parse_source("kg @ https://user:s3cr3t@h.org/kg-1.0-py3-none-any.whl", base=HERE)
    assert wheel.redacted == "kg @ https://h.org/kg-1.0-py3-none-any.whl"
    assert "s3cr3t" not in repr(wheel)
    assert wheel.secrets == ("s3cr3t",)


def test_the_ref_is_filled_in_after_the_url_was_split():
    source = parse_source("git+https://h.org/r@{ref}#subdirectory=a", ref="feat/@x#1", base=HERE)
    assert isinstance(source, GitSource)
    assert (source.url, source.ref, source.subdirectory) == ("https://h.org/r", "feat/@x#1", "a")
    assert parse_source("kg=={ref}", ref="1.2", base=HERE).redacted == "kg==1.2"


def test_local_paths_start_from_the_base(tmp_path, monkeypatch):
    project = make_project(tmp_path / "agents" / "kg")
    monkeypatch.setenv("HOME", str(tmp_path))
    for text in (
        "./agents/kg",
        "agents/kg",
        str(project),
        "~/agents/kg",
        project.as_uri(),
        f"kg @ {project.as_uri()}",
        "{project}/agents/kg",
        "agents/{ref}",
    ):
        source = parse_source(text, ref="kg", base=tmp_path)
        assert isinstance(source, LocalSource), text
        assert (source.path, source.extras) == (project, ()), text
    for text in ("./agents/kg[web,graph]", f"kg[graph,web] @ {project.as_uri()}", f"{project.as_uri()}[graph,web]"):
        source = parse_source(text, base=tmp_path)
        assert isinstance(source, LocalSource), text
        assert (source.path, source.extras) == (project, ("graph", "web")), text


def test_a_path_with_spaces_and_brackets_is_a_path(tmp_path):
    project = make_project(tmp_path / "a b [c]")
    source = parse_source("./a b [c]", base=tmp_path)
    assert isinstance(source, LocalSource)
    assert (source.path, source.extras) == (project, ())


def test_a_local_repository_may_be_named_by_a_relative_path(tmp_path):
    repository = make_project(tmp_path / "my repo")
    for text in ("git+file:my%20repo@v1", f"git+{repository.as_uri()}@v1", "git+file://{project}/my%20repo@{ref}"):
        source = parse_source(text, ref="v1", base=tmp_path)
        assert isinstance(source, GitSource), text
        assert (source.url, source.ref) == (repository.as_uri(), "v1"), text


def test_a_package_file_is_a_local_source(tmp_path):
    wheel = make_wheel(tmp_path, name="kg", version="1.0")
    source = parse_source("./kg-1.0-py3-none-any.whl", base=tmp_path)
    assert isinstance(source, LocalSource)
    assert source.path == wheel


@pytest.mark.parametrize(
    ("text", "pinned"),
    [("kg", False), ("kg[graph]>=1", False), ("kg==1.*", False), ("kg[graph]==1.0", True), ("kg===1.0", True)],
)
def test_requirements_know_whether_they_name_one_version(text, pinned):
    source = parse_source(text, base=HERE)
    assert isinstance(source, RequirementSource)
    assert source.pinned is pinned


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("./nowhere", "there is no `/nowhere`"),
        ("git+file:///nowhere/at/all", "there is no `/nowhere/at/all`"),
        ("git+https://h.org/r.git@{ref}", "no ref was given"),
        ("git+https://h.org/r.git@", "cannot be a branch"),
        ("git+https://h.org/r.git@-oProxyCommand=x", "cannot be a branch"),
        ("git+https://h.org/r.git@a..b", "cannot be a branch"),
        ("git+https://h.org", "no repository"),
        ("git+https://h.org/r.git#subdir=a", "not understood"),
        ("git+https://h.org/r.git#subdirectory=../a", "leaves the repository"),
        ("a @ git+https://h.org/r.git#egg=b", "two names"),
        ("git+https://u:s3cr3t/x@h.org/r.git", "percent-encoded"),
        ("git+ssh://git:s3cr3t@h.org/r.git", "ssh takes none"),
        ("git+ssh://-oProxyCommand=x/r.git", "cannot be read"),
        ("git@h.org:t/r.git", "git+ssh://user@host/t/r.git"),
        ("git+ssh://git@h.org:t/r.git", "git+ssh://user@host/t/r.git"),
        ("git+ext::sh -c x", "no git address"),
        ("git+file://elsewhere/r.git", "names the host `elsewhere`"),
        ("kg\n--index-url http://x", "line break"),
        ("--index-url=http://x", "an option"),
        ("git+https://${TOKEN}@h.org/r.git", "variables are not replaced"),
        ("kg one", "no source"),
        ("kg@v1", "After `@` comes"),
        ("kg @ ftp://u:s3cr3t@h.org/x.whl", "After `@` comes"),
    ],
)
def test_what_cannot_be_a_source_is_refused_with_a_reason(text, reason):
    with pytest.raises(InvalidAgent) as caught:
        parse_source(text, base=HERE)
    assert reason in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


def test_a_folder_without_a_project_is_refused_and_the_nearest_project_named(tmp_path):
    make_project(tmp_path / "mono" / "packages" / "kg")
    with pytest.raises(InvalidAgent, match=r"no Python project.*`packages/kg`"):
        parse_source("./mono", base=tmp_path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InvalidAgent, match="no package"):
        parse_source("./notes.txt", base=tmp_path)


@given(st.text(max_size=60) | st.text("git+hps:/@#[]{}=&.~ab1 %$", max_size=60))
def test_any_text_is_a_source_or_a_sentence(text):
    with contextlib.suppress(InvalidAgent):
        assert parse_source(text, ref="v1", base=HERE).redacted
