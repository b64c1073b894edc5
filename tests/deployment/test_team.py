"""`make team`: a team's deployment on one machine, with an evaluation launched from its UI."""

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager

import boto3
import pytest
from sqlalchemy import create_engine, text

from bench_assets.storage.postgres.connecting import parse_url
from tests.automation.daemon import ask, launch, serves, wait_for
from tests.readme.checkout import ROOT, clean_environment, fresh_copy, running_in
from tests.services.free_ports import free_ports
from tests.services.opt_out import unless_opted_out

CANDIDATE = "abacus@v1.1.0"
BENCHMARK = "word_arithmetic/1.0"
ADD = """
mutation($key: String!, $where: RepositorySelector!) {
  addDynamicPartition(partitionsDefName: "candidates", partitionKey: $key, repositorySelector: $where) { __typename } }
"""
STATUS = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
ENDED = {"SUCCESS", "FAILURE", "CANCELED"}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@contextmanager
def team(copy, environ):
    """Run what `make team` runs in a copy of the repository; yields the address of its UI and its log."""
    (port,) = free_ports(1)
    log = copy / "team.log"
    command = [sys.executable, "deploy/local/team.py", "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=copy, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        wait_for(lambda: serves(port) or process.poll() is not None, what="the team's UI", log=log)
        yield f"http://127.0.0.1:{port}", log
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=10)


def variables(file):
    """Return what a shell has after reading the file."""
    found = re.findall(r"^export (\w+)=(.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: shlex.split(value)[0] for name, value in found}


def test_the_make_target_runs_the_script_that_is_tested():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^team: .*\n.*\$\(BIN\)/python deploy/local/team\.py --port", recipe, re.MULTILINE)


def test_an_evaluation_launched_from_a_teams_ui_has_its_rows_in_postgres_and_its_files_and_logs_on_s3(tmp_path):
    copy = fresh_copy(tmp_path / "bench-assets")
    environ = clean_environment(copy, cache=tmp_path / "cache")
    repository = [sys.executable, "examples/abacus/make_repository.py", ".bench/demo/abacus"]
    subprocess.run(repository, cwd=copy, env=environ, check=True, capture_output=True, timeout=60)
    with unless_opted_out("postgres"), unless_opted_out("s3"), team(copy, environ) as (url, log):
        file = copy / ".bench" / "team" / "environment"
        assert file.stat().st_mode & 0o077 == 0
        shell = variables(file)
        where = {"repositoryName": "__repository__", "repositoryLocationName": "bench_assets.definitions"}
        added = ask(url, ADD, key=CANDIDATE, where=where)["addDynamicPartition"]
        assert added["__typename"] == "AddDynamicPartitionSuccess"
        asked = {
            "asset_partition_range_start": f"{CANDIDATE}|000",
            "asset_partition_range_end": f"{CANDIDATE}|003",
        }
        stages = [
            (("agent_environment", "plan"), {"dagster__partition": CANDIDATE}),
            (("answers", "scores"), {f"dagster__{name}": value for name, value in asked.items()}),
            (("summary", "result_rows", "comparison", "leaderboard"), {"dagster__partition": CANDIDATE}),
        ]
        launched = []
        for names, tags in stages:
            run = launch(url, *names, benchmark=BENCHMARK, **tags)
            wait_for(lambda run=run: _status(url, run) in ENDED, what=f"the run of {names}", log=log)
            launched.append((run, _status(url, run)))
        assert [status for _, status in launched] == ["SUCCESS"] * 3, log.read_text(encoding="utf-8")[-6000:]
        joined = subprocess.run(
            ["bash", "-c", ". .bench/team/environment; .venv/bin/bench-assets history --benchmark word_arithmetic@1.0"],
            cwd=copy, env=environ, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert (joined.returncode, CANDIDATE in joined.stdout) == (0, True), joined.stderr
        check_rows(shell["BENCH_POSTGRES_URL"])
        check_objects(shell, [run for run, _ in launched])
    assert not file.exists()
    assert running_in(copy) == []


def _status(url, run):
    return ask(url, STATUS, id=run)["runOrError"]["status"]


def check_rows(url):
    engine = create_engine(parse_url(url))
    with engine.connect() as connection:
        rows = connection.execute(text("select candidate, verdict from leaderboard")).all()
        executions = connection.execute(text("select count(*) from executions")).scalar_one()
    engine.dispose()
    assert [candidate for candidate, _ in rows] == [CANDIDATE]
    assert executions > 0


def check_objects(shell, runs):
    client = boto3.client(
        "s3",
        endpoint_url=shell["AWS_ENDPOINT_URL"],
        aws_access_key_id=shell["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=shell["AWS_SECRET_ACCESS_KEY"],
        region_name=shell["AWS_REGION"],
    )

    def keys(prefix):
        listed = client.list_objects_v2(Bucket=shell["BENCH_LOGS_BUCKET"], Prefix=prefix)
        return [entry["Key"] for entry in listed.get("Contents", [])]

    assert {key.rpartition("/")[2] for key in keys("results/runs/")} >= {"run.json", "summary.json", "report.html"}
    for run in runs:
        (log,) = [key for key in keys(f"dagster-logs/storage/{run}/") if key.endswith(".err")]
        told = client.get_object(Bucket=shell["BENCH_LOGS_BUCKET"], Key=log)["Body"].read()
        assert b"RUN_SUCCESS" in told or b"STEP_SUCCESS" in told
