"""What an agent can see, and what is written down."""

import sys

import pytest

from tests.endtoend.project import ECHO, commit, git, quiz, records, strict, write_package
from tests.environments.private_git import PrivateGit

SPY = """\
import json
import os
import pathlib
import sys

class Agent:
    def run(self, question, **kwargs):
        found = [question, repr(kwargs), repr(sys.argv), pathlib.Path("/proc/self/cmdline").read_text()]
        found += [f"{name}={value}" for name, value in os.environ.items()]
        here = pathlib.Path.cwd()
        assert list(here.iterdir()) == []
        for folder in (here, *here.parents):
            for path in folder.iterdir():
                try:
                    found.append(path.read_text())
                except (OSError, UnicodeDecodeError):
                    pass
        for link in pathlib.Path("/proc/self/fd").iterdir():
            try:
                target = os.readlink(link)
                found.append(target)
                if os.path.isfile(target):
                    found.append(pathlib.Path(target).read_text())
            except (OSError, UnicodeDecodeError):
                pass
        return json.dumps([text for text in found if "GOLDEN-7f3a" in text or "=" in text and "SECRET-9c1" in text])

def make_agent():
    return Agent()
"""

REPEATS = """\
import os

class Agent:
    def run(self, question):
        return ",".join(sorted(os.environ))

def make_agent():
    return Agent()
"""


def test_an_agent_finds_no_golden_and_none_of_our_secrets(project):
    write_package(project.folder / "agent", SPY)
    benchmark = project.benchmark([{"id": "../../escape", "question": "?", "golden": "GOLDEN-7f3a"}])
    project.variables |= {
        "OPENAI_API_KEY": "SECRET-9c1",
        "BENCH_LLM_JUDGE_KWARGS": '{"api_key": "SECRET-9c1"}',
        "AWS_SECRET_ACCESS_KEY": "SECRET-9c1",
        "PYTHONPATH": "/SECRET-9c1",
        "VIRTUAL_ENV": "/SECRET-9c1",
    }
    done = project.cli("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    (answer,) = records(run / "answers.jsonl")
    assert answer["answer"] == "[]"
    assert answer["id"] == "../../escape"
    assert not list(project.folder.parent.rglob("*escape*"))


def test_an_agent_sees_the_variables_it_was_promised_and_nobody_reads_their_values(project):
    write_package(project.folder / "agent", REPEATS)
    project.variables |= {"TEAM_TOKEN": "s3cr3t-token", "COOKIE": "session=s3cr3t-cookie", "LEFT_OUT": "x"}
    command = [
        sys.executable,
        "-m",
        "bench_assets",
        "run",
        "--benchmark",
        project.benchmark(quiz(1)),
        "--agent",
        "./agent",
    ]
    command += ["--agent-entry-point", "agent", "--agent-env", "TEAM_TOKEN", "--log-level", "debug", "--log-ipc"]
    done = project.program(*command, "--env-override", "SESSION=${COOKIE}", "--env-override", "PLAIN=s3cr3t-typed")
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    (answer,) = records(run / "answers.jsonl")
    seen = answer["answer"].split(",")
    assert {"TEAM_TOKEN", "SESSION", "PLAIN", "PATH", "HOME"} <= set(seen)
    assert not {"COOKIE", "LEFT_OUT", "BENCH_PROJECT", "DAGSTER_HOME"} & set(seen)
    provenance = strict((run / "run.json").read_text())
    assert provenance["agent_env"] == ["TEAM_TOKEN"]
    assert provenance["env_overrides"] == {"PLAIN": "***", "SESSION": "***"}
    written = [path for path in project.storage.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]
    assert written == []
    assert "s3cr3t" not in done.stdout + done.stderr
    database = [path for path in (project.folder / "dagster_home").rglob("*") if path.is_file()]
    assert not [
        path for path in database if b"s3cr3t-token" in path.read_bytes() or b"s3cr3t-cookie" in path.read_bytes()
    ]


@pytest.mark.parametrize("target", ["main", "nowhere"])
def test_credentials_of_a_url_are_used_and_written_nowhere(project, target):
    # Nobody listens there: the build fails, and even its error tells nothing.
    done = project.program(
        sys.executable, "-m", "bench_assets", "run", "--benchmark", project.benchmark(quiz(1)), "--agent",
        f"git+http://user:s3cr3t-pw@127.0.0.1:9/team/agent.git@{target}", "--agent-entry-point", "agent",
        "--log-level", "debug",
    )  # fmt: skip
    assert done.returncode == 1
    assert "http://127.0.0.1:9/team/agent.git" in done.stderr
    everything = [path for path in project.folder.rglob("*") if path.is_file()]
    everything += [path for path in project.cache.rglob("*") if path.is_file() and path.stat().st_size < 1_000_000]
    assert not [path for path in everything if b"s3cr3t-pw" in path.read_bytes()]
    assert "s3cr3t-pw" not in done.stdout + done.stderr
    listed = project.cli("candidates", "list")
    assert "s3cr3t" not in listed.stdout


def test_an_agent_of_a_private_repository_is_benchmarked_with_the_credentials_of_its_url(project, tmp_path):
    source = write_package(tmp_path / "work", ECHO)
    commit(source, "one", tag="v1")
    with PrivateGit(tmp_path / "served", user="bob", password="s3cr3t-pw") as server:
        git(source, "clone", "--quiet", "--bare", str(source), str(server.root / "agent.git"))
        agent = f"git+http://bob:s3cr3t-pw@{server.host}/agent.git@v1"
        command = [
            sys.executable,
            "-m",
            "bench_assets",
            "run",
            "--benchmark",
            project.benchmark(quiz(2)),
            "--agent",
            agent,
        ]
        done = project.program(*command, "--agent-entry-point", "agent", "--log-level", "debug", "--log-ipc")
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    provenance = strict((run / "run.json").read_text())
    assert provenance["agent_source"] == f"git+http://{server.host}/agent.git@v1"
    assert len(provenance["commit"]) == 40
    kept = [path for folder in (project.folder, project.cache) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"s3cr3t-pw" in path.read_bytes()]
    assert "s3cr3t-pw" not in done.stdout + done.stderr
