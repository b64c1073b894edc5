"""A team's queue, as its daemon takes runs from it: so many of one agent at once, and people before the night."""

import dagster as dg
import pytest

from bench_assets.contracts.deployment import Deployment
from tests.automation.daemon import dagster_dev, wait_for
from tests.endtoend.project import quiz, write_package
from tests.endtoend.test_partitions import Runner

TEAM = """\
run_coordinator: {module: bench_assets.instance.coordinator, class: AgentRunCoordinator}
concurrency:
  runs:
    max_concurrent_runs: 2
    tag_concurrency_limits:
      - {key: bench/agent, value: {applyLimitPerUniqueValue: true}, limit: 1}
run_monitoring: {enabled: true}
telemetry: {enabled: false}
"""
WAITING = """\
import os
import time

class Agent:
    def run(self, question):
        while not os.path.exists(os.environ["GATE"]):
            time.sleep(0.05)
        return question.upper()

make_agent = Agent
"""
"""An agent that answers once the test lets it."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SHARD = "000"


@pytest.fixture
def team(project):
    project.benchmark(quiz(2), extra="timeout_sec: 300\n")
    entry = "{source: ./agent, entry_point: agent, env: [GATE]}"
    project.agents(f"agents:\n  search: {entry}\n  chat: {entry}\n")
    write_package(project.folder / "agent", WAITING)
    project.variables["GATE"] = str(project.folder / "gate")
    (project.folder / "dagster_home" / "dagster.yaml").write_text(TEAM, encoding="utf-8")
    return project


def test_one_agents_runs_follow_each_other_another_passes_and_a_person_overtakes_the_night(team, monkeypatch):
    monkeypatch.setenv("BENCH_PROJECT", str(team.folder))
    candidates = ["search@1", "search@2", "search@night", "chat@1"]
    with dg.DagsterInstance.from_config(str(team.folder / "dagster_home")) as instance:
        instance.add_dynamic_partitions("candidates", candidates)
        Runner(team, instance, str(team.storage)).materialize(
            "agent_environment", "plan", first=candidates[0], last=candidates[-1]
        )

        def status(run_id):
            return instance.get_run_by_id(run_id).status

        def times(run_id):
            record = instance.get_run_record_by_id(run_id)
            return record.start_time, record.end_time

        with dagster_dev(team) as dagster:

            def launch(candidate, **tags):
                return dagster.launch("answers", dagster__partition=f"{candidate}|{SHARD}", **tags)

            def started(run_id):
                wait_for(lambda: status(run_id) == dg.DagsterRunStatus.STARTED, what=f"{run_id}", log=dagster.log)

            first = launch("search@1")
            started(first)
            nightly = launch("search@night", dagster__priority=str(Deployment().automatic_priority))
            person = launch("search@2")
            chat = launch("chat@1")
            started(chat)
            # Whoever let the other agent's run pass has looked at those before it, and left them.
            assert {status(nightly), status(person)} == {dg.DagsterRunStatus.QUEUED}
            assert status(first) == dg.DagsterRunStatus.STARTED
            (team.folder / "gate").touch()
            everything = [first, person, nightly, chat]
            wait_for(
                lambda: all(instance.get_run_by_id(run).is_finished for run in everything),
                what="the end of all runs",
                log=dagster.log,
            )
        assert {status(run) for run in everything} == {dg.DagsterRunStatus.SUCCESS}
        assert [instance.get_run_by_id(run).tags["bench/agent"] for run in everything] == ["search"] * 3 + ["chat"]
        (_, first_end), (person_start, person_end), (night_start, _) = times(first), times(person), times(nightly)
        assert first_end <= person_start <= person_end <= night_start, "one at a time, the person's before the night's"
        assert times(chat)[0] < first_end, "another agent does not wait for them"
