"""From a pushed tag to rows, with Dagster's real daemon and nobody clicking."""

import dagster as dg
import pytest
from sqlalchemy import create_engine, text

from bench_assets.storage.postgres.connecting import parse_url
from tests.automation.daemon import assets_of, dagster_dev, runs_of, ticks, wait_for
from tests.endtoend.project import ECHO, commit, git, quiz, write_package
from tests.environments.private_git import PrivateGit

PASSWORD = "s3cr3t-of-the-host"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def server(tmp_path):
    with PrivateGit(tmp_path / "served", user="bob", password=PASSWORD) as server:
        yield server


@pytest.fixture
def repository(tmp_path, server):
    work = write_package(tmp_path / "work", ECHO)
    commit(work, "first", tag="v1.0.0")
    git(work, "clone", "--quiet", "--bare", str(work), str(server.root / "kg.git"))
    git(work, "remote", "add", "origin", str(server.root / "kg.git"))
    return work


@pytest.fixture
def watching(project, server, database_url, tmp_path):
    project.benchmark(quiz(), extra="automation: true\n")
    project.benchmark(quiz(), name="by_hand")
    project.agents(
        "agents:\n  kg:\n"
        f"    source: git+http://bob:${{GIT_TOKEN}}@{server.host}/kg.git@{{ref}}\n"
        "    entry_point: agent\n    watch: {tags: 'v*', benchmarks: [quiz@1.0, by_hand@1.0]}\n"
    )
    (project.folder / "deployment.yaml").write_text(
        "watch_interval_sec: 2\nautomation_interval_sec: 2\n", encoding="utf-8"
    )
    project.variables |= {"GIT_TOKEN": PASSWORD, "BENCH_POSTGRES_URL": database_url}
    return project


def publish(work, *tags):
    for tag in tags:
        commit(work, tag, tag=tag)
    git(work, "push", "--quiet", "--tags", "origin", "main")


def stored(database_url):
    engine = create_engine(parse_url(database_url))
    try:
        with engine.connect() as connection:
            there = connection.execute(text("select to_regclass('runs') is not null")).scalar_one()
            found = connection.execute(text("select candidate from runs order by 1")).scalars() if there else []
            return list(found)
    finally:
        engine.dispose()


def test_a_pushed_tag_becomes_rows_in_three_runs_without_a_click(watching, repository, database_url):
    with dg.DagsterInstance.from_config(str(watching.folder / "dagster_home")) as instance:
        with dagster_dev(watching) as started:
            log = started.log
            wait_for(lambda: runs_of(instance, "kg@v1.0.0"), what="the first request", log=log)
            publish(repository, "v1.1.0", "v1.2.0")
            everything = ["kg@v1.0.0", "kg@v1.1.0", "kg@v1.2.0"]
            wait_for(lambda: stored(database_url) == everything, what="the rows of three tags", log=log, seconds=240)
            idle = len(ticks(instance, "new_git_tags"))
            wait_for(lambda: len(ticks(instance, "new_git_tags")) >= idle + 2, what="two more looks", log=log)
            for candidate in everything:
                made = [assets_of(run) for run in runs_of(instance, candidate)]
                assert made[0] == {"agent_environment", "plan"}
                assert made[1] == {"answers", "scores"}
                assert made[2] >= {"summary", "result_rows"}
                assert len(made) == 3, "every shard is in one run, and nothing is done twice"
            assert all(run.is_success for run in instance.get_runs())
            assert ticks(instance, "new_git_tags")[0] == {"status": "SKIPPED", "runs": 0, "skip": "nothing new"}
        publish(repository, "v1.3.0")  # nobody is looking
        with dagster_dev(watching) as started:
            log = started.log
            wait_for(lambda: runs_of(instance, "kg@v1.3.0"), what="the tag pushed meanwhile", log=log)
            wait_for(lambda: runs_of(instance, "kg@v1.3.0")[0].is_finished, what="its plan", log=log)
        # A plan is all that the other benchmark got: it does not carry on by itself.
        by_hand = instance.get_materialized_partitions(dg.AssetKey(["by_hand", "1.0", "plan"]))
        assert by_hand == {*everything, "kg@v1.3.0"}
        assert instance.get_materialized_partitions(dg.AssetKey(["by_hand", "1.0", "answers"])) == set()
        assert PASSWORD not in log.read_text(encoding="utf-8")
