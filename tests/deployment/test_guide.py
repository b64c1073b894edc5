"""`docs/deploy.md`, walked: each of its commands exists, names what is there, and fits the others."""

import re
import shlex
import subprocess
import textwrap
from itertools import pairwise

import dagster as dg
import pytest
import yaml
from dagster._cli import create_dagster_cli
from dagster._daemon.cli import create_dagster_daemon_cli
from dagster_webserver.cli import create_dagster_webserver_cli

from bench_assets.catalog.agents import load_agents
from bench_assets.catalog.deployment import load_deployment
from tests.kubernetes.chart import RELEASE, values
from tests.kubernetes.schema import faults
from tests.readme.checkout import ROOT

GUIDE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
NAMESPACE = "bench"


def fenced(language):
    """Return the guide's blocks in a language, those in lists included."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", GUIDE, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(text) for _, text in found]


COMMANDS = [line for text in fenced("sh") for line in text.replace("\\\n", " ").splitlines()]


def parsed(command, words):
    """Have click read the words of a command as its program would, without doing anything."""
    while hasattr(command, "commands"):
        context = command.make_context(words[0], list(words[1:]), resilient_parsing=True)
        name, *_ = [word for word in words[1:] if word in command.commands] or [None]
        if name is None:
            break
        words, command = [name, *words[words.index(name) + 1 :]], command.get_command(context, name)
    return command.make_context(words[0], list(words[1:])).params


def after(words, *names):
    """Return the word behind an option."""
    (found,) = [value for name, value in pairwise(words) if name in names]
    return found


def test_every_program_of_the_guide_has_its_test_here():
    assert {shlex.split(line)[0] for line in COMMANDS} == {
        "dagster", "dagster-daemon", "dagster-webserver", "docker", "helm", "kubectl", "make",
    }  # fmt: skip


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("make ")])
def test_make_knows_the_target(line):
    command = [*shlex.split(line), "--dry-run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "deploy/local/team.py --port 3000" in done.stdout


@pytest.mark.parametrize(
    ("program", "cli"),
    [("dagster-webserver", create_dagster_webserver_cli), ("dagster-daemon", create_dagster_daemon_cli)],
)
def test_dagsters_programs_take_their_options(program, cli):
    (line,) = [line for line in COMMANDS if line.startswith(f"{program} ")]
    assert parsed(cli(), shlex.split(line))["module_name"] == ("bench_assets.definitions",)


def test_a_pools_limit_can_be_set_as_the_guide_says(tmp_path, monkeypatch):
    from click.testing import CliRunner

    (line,) = [line for line in COMMANDS if line.startswith("dagster ")]
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    done = CliRunner().invoke(create_dagster_cli(), shlex.split(line)[1:])
    assert done.exit_code == 0, done.output
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        limits = {limit.name: limit.limit for limit in instance.event_log_storage.get_pool_limits()}
    assert limits == {"judge_openai": 2}


def test_the_image_is_built_from_a_file_that_is_there_under_the_name_that_the_chart_is_told():
    (line,) = [line for line in COMMANDS if line.startswith("docker ")]
    words = shlex.split(line)
    assert words[:2] + words[-1:] == ["docker", "build", "."]
    assert (ROOT / after(words, "-f")).is_file()
    image = values()["dagsterWebserver"]["image"]
    assert after(words, "-t") == f"{image['repository']}:{image['tag']}"


def test_kubectl_makes_the_namespace_first_and_applies_what_a_cluster_takes():
    lines = [shlex.split(line) for line in COMMANDS if line.startswith("kubectl ")]
    assert lines[0] == ["kubectl", "create", "namespace", NAMESPACE]
    assert {after(words, "-n") for words in lines[1:]} == {NAMESPACE}
    applied = [after(words, "-f") for words in lines if "apply" in words]
    assert applied == ["deploy/secrets.yaml", "deploy/cache.yaml"]
    for name in applied:
        for manifest in yaml.safe_load_all((ROOT / name).read_text(encoding="utf-8")):
            assert faults(manifest) == []


def test_the_port_that_is_forwarded_is_the_webservers():
    (words,) = [shlex.split(line) for line in COMMANDS if "port-forward" in line]
    assert words[-2] == f"deploy/{RELEASE}-dagster-webserver"
    assert words[-1].rpartition(":")[2] == str(values()["dagsterWebserver"]["service"]["port"])


def test_helm_installs_the_chart_of_the_dagster_that_is_in_the_image():
    (line,) = [line for line in COMMANDS if line.startswith("helm ")]
    words = shlex.split(line)
    assert words[:5] == ["helm", "upgrade", "--install", RELEASE, "dagster/dagster"]
    assert after(words, "--namespace") == NAMESPACE
    assert (ROOT / after(words, "-f")).is_file()
    pinned = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    assert re.search(r"^dagster==(\S+)", pinned, re.MULTILINE)[1] == after(words, "--version")


def test_the_pod_settings_that_are_shown_are_read(tmp_path):
    (text,) = fenced("yaml")
    (tmp_path / "agents.yaml").write_text(text, encoding="utf-8")
    agents = load_agents(tmp_path / "agents.yaml")
    assert agents["kg"].pod.memory == "8Gi"
    assert agents["kg"].pod.env == {"KG_DEPTH": "3"}
    assert load_deployment(ROOT / "deploy" / "deployment.yaml").max_shards_per_run == 1
