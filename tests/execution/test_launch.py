"""What an agent's process may see."""

import json
import logging
import sys
from pathlib import Path

from bench_assets.execution.launch import WorkerLaunch, agent_variables

PARENT = {
    "PATH": "/usr/bin",
    "HOME": "/home/me",
    "LANG": "C.UTF-8",
    "LC_NUMERIC": "de_DE",
    "https_proxy": "http://proxy:3128",
    "SSL_CERT_FILE": "/certs.pem",
    "OPENAI_API_KEY": "sk-judge",
    "AWS_SECRET_ACCESS_KEY": "store",
    "BENCH_POSTGRES_URL": "postgresql://u:p@host/db",
    "BENCHER_LLM_JUDGE_KWARGS": "{}",
    "DAGSTER_HOME": "/dagster",
    "PYTHONPATH": "/ours",
    "PYTHONHOME": "/ours",
    "VIRTUAL_ENV": "/ours/.venv",
    "MY_TOKEN": "agent's",
}


def test_only_allow_listed_variables_and_those_that_the_agent_names_are_handed_on():
    variables = agent_variables(allowed=["MY_TOKEN", "NOT_SET"], parent=PARENT)
    assert variables == {
        "PATH": "/usr/bin",
        "HOME": "/home/me",
        "LANG": "C.UTF-8",
        "LC_NUMERIC": "de_DE",
        "https_proxy": "http://proxy:3128",
        "SSL_CERT_FILE": "/certs.pem",
        "MY_TOKEN": "agent's",
    }
    assert agent_variables(allowed=["OPENAI_API_KEY"], parent=PARENT)["OPENAI_API_KEY"] == "sk-judge"


def test_later_sources_win():
    variables = agent_variables(
        allowed=["MY_TOKEN"], given={"MY_TOKEN": "given", "MODEL": "a"}, overrides={"MODEL": "b"}, parent=PARENT
    )
    assert (variables["MY_TOKEN"], variables["MODEL"]) == ("given", "b")


def test_variables_of_bench_assets_are_never_handed_on_whoever_names_them(caplog):
    caplog.set_level(logging.WARNING)
    ours = [name for name in PARENT if name.startswith(("BENCH", "DAGSTER", "PYTHON", "VIRTUAL"))]
    variables = agent_variables(
        allowed=ours, given=dict.fromkeys(ours, "x"), overrides=dict.fromkeys(ours, "y"), parent=PARENT
    )
    assert not set(variables) & set(ours)
    assert "`BENCH_POSTGRES_URL` is not handed to the agent" in caplog.text
    assert "u:p@host" not in caplog.text


def test_nothing_but_the_launch_environment_reaches_the_agent_and_its_own_programs_come_first(bench, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_ORCHESTRATOR", "golden")
    bench.adapter("class Agent:\n    def run(self, question): return json.dumps(dict(os.environ))")
    variables = json.loads(bench.ask("q")["q"].answer)
    ours = {"BENCH_WORKER", "BENCH_WORKER_SCRATCH"}
    assert set(variables) - {"LC_CTYPE"} == {"PATH", "PYTHONPATH", "TEST_FOLDER", "TEST_TAG", *ours}
    assert variables["PATH"].split(":")[0] == str(Path(sys.executable).parent)


def test_values_stay_out_of_the_launchs_text(tmp_path):
    launch = WorkerLaunch(
        python=tmp_path, connection=(), env={"KEY": "very-secret"}, kwargs={}, run_id="r", log_dir=tmp_path
    )
    assert "very-secret" not in repr(launch)
