"""Options of `bench-assets run` that move files, change the worker or tell more."""

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from tests.endtoend.project import ECHO, quiz, records, strict, write_package

FILES = {"answers.jsonl", "environment.lock", "run.json", "scores.jsonl", "summary.json", "gate.json", "report.html"}


@pytest.fixture
def command(project):
    write_package(project.folder / "agent", ECHO)
    return ("run", "--benchmark", project.benchmark(quiz()), "--agent", "./agent", "--agent-entry-point", "agent")


def test_checkpoints_and_copies_go_where_they_are_asked_to(project, command):
    done = project.cli(*command, "--checkpoint-dir", "journal", "--output-dir", "out", "--upload-dir", "copies")
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    settled = [path for path in (project.folder / "journal" / run.name).glob("*.jsonl") if path.stat().st_size]
    assert sum(len(records(path)) - 1 for path in settled) == 4  # each begins with a line that says whose it is
    for place in ("out", "copies"):
        assert {path.name for path in (project.folder / place / run.name).iterdir()} >= FILES
        assert str(project.folder / place / run.name) in done.stdout
    assert strict((run / "run.json").read_text())["checkpoint_dir"] == str(project.folder / "journal")


def test_checkpoints_and_copies_can_go_to_an_object_store(project, command, s3_endpoint):
    project.variables |= s3_endpoint.environment
    prefix = project.folder.parent.name
    place = f"s3://{s3_endpoint.bucket}/{prefix}"
    done = project.cli(
        *command, "--checkpoint-dir", f"{place}/journal", "--checkpoint-flush-every", "1", "--upload-dir", f"{place}/up"
    )
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    session = boto3.Session(s3_endpoint.access_key, s3_endpoint.secret_key, region_name="us-east-1")
    client = session.client("s3", endpoint_url=s3_endpoint.url)
    listed = client.list_objects_v2(Bucket=s3_endpoint.bucket, Prefix=prefix)["Contents"]
    keys = {entry["Key"] for entry in listed}
    assert {f"{prefix}/up/{run.name}/{name}" for name in FILES} <= keys
    assert {key.rpartition("/")[0] for key in keys if key.startswith(f"{prefix}/journal/{run.name}/0")} == {
        f"{prefix}/journal/{run.name}/{shard}" for shard in ("000", "001")
    }


def test_another_worker_can_be_tried(project, command):
    shutil.copytree(Path(__file__).parents[2] / "worker", project.folder / "worker")
    main = project.folder / "worker" / "src" / "bench_worker" / "__main__.py"
    main.write_text(main.read_text() + "\n# changed\n", encoding="utf-8")
    done = project.cli(*command, "--worker-source", "./worker")
    assert done.returncode == 0, done.stderr
    own = project.cli(*command)
    assert own.returncode == 0, own.stderr
    first, second = (strict((run / "run.json").read_text()) for run in project.runs())
    assert first["worker_source"] != second["worker_source"]
    assert first["environment"]["fingerprint"] != second["environment"]["fingerprint"]


def test_the_environment_is_built_anew_when_asked(project, command):
    assert project.cli(*command).returncode == 0
    assert "reused in" in project.cli(*command).stderr
    assert "built in" in project.cli(*command, "--invalidate-agent-cache").stderr


def test_every_message_to_and_from_workers_can_be_logged(project, command):
    done = project.program(sys.executable, "-m", "bench_assets", *command, "--log-ipc")
    assert done.returncode == 0, done.stderr
    for message in ('"ready"', '"ask"', '"result"'):
        assert message in done.stderr


SLOW = """\
import time

class Agent:
    def run(self, question):
        time.sleep(0.3)
        return question.upper()

make_agent = Agent
"""


def test_a_terminal_shows_a_bar_that_moves(project, command):
    write_package(project.folder / "agent", SLOW)
    project.benchmark(quiz(12))
    ours, theirs = pty.openpty()
    project.variables |= {"TERM": "xterm-256color", "COLUMNS": "120"}
    running = subprocess.Popen(
        [sys.executable, "-m", "bench_assets", *command], cwd=project.folder, env=project.environ,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the last process that could write there is gone
            break
    os.close(ours)
    assert running.wait(timeout=60) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode(errors="replace"))
    frames = re.findall(r"asking \S+ on quiz@1.0, shard 000 \S+ +(\d)/6", text)
    assert len(set(frames)) > 1
