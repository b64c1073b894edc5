"""What a team's channel hears of runs that a real daemon looks after."""

import dagster as dg
import pytest

from bench_assets.definitions import build_definitions
from tests.automation.daemon import dagster_dev, ticks, wait_for
from tests.comparing.storing import Runs
from tests.notifying.test_notifications import Channel

SECRET = "s3cr3t-of-the-host"
QUICKLY = "watch_interval_sec: 1\nautomation_interval_sec: 1\n"
NOTIFY = f"{QUICKLY}notify: {{webhook_variable: TEAM_WEBHOOK, ui_url: 'https://dagster.example.org'}}\n"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def channel():
    with Channel() as channel:
        yield channel


@pytest.fixture
def runs(project, database_url, channel):
    """Runs of four versions: the one before, a better one, a worse one, and one like the better one."""
    found = Runs(project, gate="{baseline: kg@v1}")
    for candidate, right in (("kg@v1", 30), ("kg@v2", 40), ("kg@v3", 10), ("kg@v4", 40)):
        found.add(candidate, right=right)
    project.agents(
        "agents:\n  kg: {source: 'git+http://bob:${KG_TOKEN}@127.0.0.1:1/kg.git@{ref}', entry_point: agent}\n"
    )
    project.variables |= {
        "BENCH_POSTGRES_URL": database_url,
        "KG_TOKEN": SECRET,
        "TEAM_WEBHOOK": channel.environ["BENCH_WEBHOOK_URL"],
    }
    return found


def compare_here(runs, instance, candidate):
    """Decide about a candidate in this process, as `bench-assets run` does on a machine of CI."""
    key = dg.AssetKey(["quiz", "1.0", "comparison"])
    definitions = build_definitions([runs.benchmark], workspace=runs.workspace)
    job = definitions.get_repository_def().get_implicit_job_def_for_assets([key])
    tags = {"dagster/partition": candidate}
    return job.execute_in_process(instance=instance, asset_selection=[key], tags=tags, raise_on_error=False)


def two_looks_more(instance, sensor, log):
    before = len(ticks(instance, sensor))
    wait_for(lambda: len(ticks(instance, sensor)) >= before + 2, what=f"two looks of {sensor}", log=log)


def test_each_verdict_and_failure_is_told_once_without_secrets_and_nothing_while_it_is_off(runs, channel):
    project = runs.project
    settings = project.folder / "deployment.yaml"
    with dg.DagsterInstance.from_config(str(project.folder / "dagster_home")) as instance:
        instance.add_dynamic_partitions("candidates", ["kg@v1", "kg@v2", "kg@v3", "kg@v4"])
        settings.write_text(QUICKLY, encoding="utf-8")
        with dagster_dev(project) as dagster:
            first = dagster.launch("comparison", dagster__partition="kg@v1")
            wait_for(lambda: instance.get_run_by_id(first).is_finished, what="the first run", log=dagster.log)
            two_looks_more(instance, "new_git_tags", dagster.log)
        assert channel.received == []

        settings.write_text(NOTIFY, encoding="utf-8")
        with dagster_dev(project) as dagster:
            two_looks_more(instance, "notify_success", dagster.log)  # from here on it is told
            launched = {
                candidate: dagster.launch("comparison", dagster__partition=candidate)
                for candidate in ("kg@v2", "kg@v3")
            }
            broken = dagster.launch("agent_environment", dagster__partition="kg@v3")
            assert compare_here(runs, instance, "kg@v4").success
            wait_for(lambda: len(channel.received) >= 4, what="four messages", log=dagster.log)
            for sensor in ("notify_success", "notify_failure"):
                two_looks_more(instance, sensor, dagster.log)
            log = dagster.log.read_text(encoding="utf-8")

    told = {" ".join(body["text"].split(" ")[:2]): body["text"] for body in channel.received}
    assert len(channel.received) == 4
    assert set(told) == {"*GO* kg@v2", "*NO-GO* kg@v3", "*FAILURE* kg@v3:", "*GO* kg@v4"}
    go, no_go, failure = told["*GO* kg@v2"], told["*NO-GO* kg@v3"], told["*FAILURE* kg@v3:"]
    assert go.splitlines()[1:] == [
        "All 4 conditions are kept.",
        f"https://dagster.example.org/runs/{launched['kg@v2']}",
    ]
    assert "quiz@1.0\nAccuracy changed by" in no_go
    assert no_go.endswith(f"/runs/{launched['kg@v3']}")
    assert failure.startswith("*FAILURE* kg@v3: agent_environment\n")
    assert failure.endswith(f"/runs/{broken}")
    assert SECRET not in str(channel.received)
    assert SECRET not in log
