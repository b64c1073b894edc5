"""Looks at real repositories, as the sensor takes them: behind a password, unreachable, several at once."""

import json

import dagster as dg
import pytest

from bench_assets.catalog.benchmarks import list_benchmarks
from bench_assets.catalog.project import Project
from bench_assets.definitions import build_definitions
from bench_assets.resources.failures import BenchFailure
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.workspace import Workspace
from tests.endtoend.project import ECHO, commit, git, quiz, write_package
from tests.environments.private_git import PrivateGit

PASSWORD = "s3cr3t-of-the-host"


@pytest.fixture
def server(tmp_path):
    with PrivateGit(tmp_path / "served", user="bob", password=PASSWORD) as server:
        yield server


class Watched:
    """A project, its sensor, and an instance that keeps the cursor as the daemon does."""

    def __init__(self, project, instance, environ):
        found = Project.find(environ, cwd=project.folder)
        reporter = LogReporter(lambda _: None, detail=lambda _: None)
        self.workspace = Workspace(project=found, environ=environ, reporter=reporter)
        self.definitions = build_definitions(list_benchmarks(found.benchmarks)[0], workspace=self.workspace)
        self.sensor = self.definitions.resolve_sensor_def("new_git_tags")
        self.instance = instance
        self.cursor = None

    def tick(self):
        # Made as the daemon makes it: `build_sensor_context` does not see partitions that the tick itself adds.
        with dg.SensorEvaluationContext(
            instance_ref=self.instance.get_ref(),
            cursor=self.cursor,
            sensor_name="new_git_tags",
            repository_def=self.definitions.get_repository_def(),
            resources=self.definitions.get_repository_def().get_top_level_resources(),
        ) as context:
            result = self.sensor.evaluate_tick(context)
        self.cursor = result.cursor
        return result


@pytest.fixture
def repository(tmp_path, server):
    work = write_package(tmp_path / "work", ECHO)
    commit(work, "first", tag="v1.0.0")
    git(work, "clone", "--quiet", "--bare", str(work), str(server.root / "kg.git"))
    git(work, "remote", "add", "origin", str(server.root / "kg.git"))
    return work


def publish(work, tag, *, annotated=False):
    identifier = commit(work, tag)
    git(work, "tag", *(["--annotate", "--message", tag] if annotated else []), tag)
    git(work, "push", "--quiet", "--tags", "origin", "main")
    return identifier


@pytest.fixture
def watched(project, server, repository, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    project.benchmark(quiz())
    project.agents(
        "agents:\n  kg:\n"
        f"    source: git+http://bob:${{GIT_TOKEN}}@{server.host}/kg.git@{{ref}}\n"
        "    entry_point: agent\n    watch: {tags: 'v*', benchmarks: [quiz@1.0]}\n"
    )
    environ = {**project.environ, "HOME": str(home), "GIT_TOKEN": PASSWORD, "GIT_CONFIG_NOSYSTEM": "1"}
    (tmp_path / "instance").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "instance")) as instance:
        yield Watched(project, instance, environ)


def test_a_tag_becomes_a_partition_and_one_request_of_stage_one(watched, repository):
    head = publish(repository, "v1.1.0", annotated=True)
    (request,) = watched.tick().run_requests
    assert request.partition_key == "kg@v1.1.0"
    assert {key.to_user_string() for key in request.asset_selection} == {"agent_environment", "quiz/1.0/plan"}
    assert request.tags["bench/commit"] == head, "an annotated tag is followed to its commit"
    assert watched.tick().run_requests == []


def test_the_partition_is_asked_for_with_the_request(watched):
    (added,) = watched.tick().dynamic_partitions_requests
    assert (added.partitions_def_name, list(added.partition_keys)) == ("candidates", ["kg@v1.0.0"])


def test_no_password_is_in_what_a_tick_leaves(watched, capfd):
    result = watched.tick()
    said = capfd.readouterr()
    left = json.dumps([result.cursor, [request.tags for request in result.run_requests], said.out + said.err])
    assert PASSWORD not in left


def test_an_unreachable_repository_is_told_and_does_not_stop_the_others(watched, project, repository, capfd):
    text = (project.folder / "agents.yaml").read_text(encoding="utf-8")
    broken = "  broken:\n    source: git+http://127.0.0.1:9/x.git@{ref}\n    entry_point: agent\n"
    broken += "    watch: {tags: '*', benchmarks: [quiz@1.0]}\n"
    project.agents(text + broken)
    first = watched.tick()
    assert [request.partition_key for request in first.run_requests] == ["kg@v1.0.0"]
    assert "`broken`" in capfd.readouterr().err
    second = watched.tick()
    assert second.run_requests == []
    assert "`broken`: The git repository `http://127.0.0.1:9/x.git` could not be asked" in second.skip_message
    publish(repository, "v2.0.0")
    assert [request.partition_key for request in watched.tick().run_requests] == ["kg@v2.0.0"]


def test_a_repository_that_fails_for_a_while_loses_nothing(watched, server, repository):
    watched.tick()
    server.password = "changed"
    publish(repository, "v2.0.0")
    refused = watched.tick()
    assert refused.run_requests == []
    assert "Authentication failed" in refused.skip_message
    server.password = PASSWORD
    publish(repository, "v3.0.0")
    assert [request.partition_key for request in watched.tick().run_requests] == ["kg@v2.0.0", "kg@v3.0.0"]


def test_netrc_gives_the_credentials_too(watched, project, server):
    text = (project.folder / "agents.yaml").read_text(encoding="utf-8")
    project.agents(text.replace("bob:${GIT_TOKEN}@", ""))
    host = server.host.partition(":")[0]
    netrc = f"machine {host} login bob password {PASSWORD}\n"
    (project.folder.parent / "home" / ".netrc").write_text(netrc, encoding="utf-8")
    assert [request.partition_key for request in watched.tick().run_requests] == ["kg@v1.0.0"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("quiz@1.0", "quiz@9"), "names the benchmark `quiz@9`, which is not there; there are: `quiz@1.0`"),
        (("@{ref}", ""), "needs `{ref}` in `source`"),
        (("GIT_TOKEN", "NO_SUCH_TOKEN"), "from the variable `NO_SUCH_TOKEN`, which is not set"),
        (("kg.git@{ref}", "${GIT_TOKEN}.git@{ref}"), "before the `@` of a URL"),
    ],
)
def test_an_entry_that_cannot_be_watched_is_told_in_the_tick(watched, project, change, said):
    text = (project.folder / "agents.yaml").read_text(encoding="utf-8")
    project.agents(text.replace(*change))
    assert said in watched.tick().skip_message


def test_a_watch_of_nothing_is_refused_with_its_line(watched, project):
    text = (project.folder / "agents.yaml").read_text(encoding="utf-8")
    project.agents(text.replace("tags: 'v*', ", ""))
    with pytest.raises(BenchFailure, match=r"agents.yaml:5: .*give `tags`, `branch` or both"):
        watched.tick()


def test_a_cursor_of_someone_else_is_refused_with_what_to_do(watched):
    watched.cursor = "yesterday"
    with pytest.raises(BenchFailure, match="Reset it in the UI"):
        watched.tick()
