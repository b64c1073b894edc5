"""The README, done: its commands in one shell, in a fresh copy of the repository."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from sqlalchemy import create_engine, inspect

from bench_assets.contracts.gate import EXIT_CODES
from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.upgrade import REVISION_TABLE
from tests.endtoend.project import commit, git
from tests.fakes.openai_endpoint import OpenAIEndpoint, verdict
from tests.readme.checkout import ROOT, clean_environment, fresh_copy, running_in
from tests.readme.reading import blocks, links, named, table

README = (ROOT / "README.md").read_text(encoding="utf-8")
HOW_THE_DEMO_RUNS = {
    # The environment is there already, and the tests are running.
    r"^make demo\b.*$": 'DAGSTER_HOME="$PWD/dagster_home" .venv/bin/python examples/demo.py',
    r"^make test\b.*$": ":",
}
TIMEOUT_SEC = 540
OPINIONS = {"gate.json", "report.html"}
FILES = {"answers.jsonl", "scores.jsonl", "summary.json", "run.json", "environment.lock"} | OPINIONS
BESIDE_A_BASELINE = {"comparison.json"}


def session(stand_ins: dict[str, str]) -> str:
    """Return the README's commands as one script that names each block before it runs and stops at the first fault."""
    lines = ["set -euo pipefail"]
    for number, block in enumerate(blocks(README, "sh"), start=1):
        text = block.text
        for pattern, instead in HOW_THE_DEMO_RUNS.items():
            text = re.sub(pattern, instead, text, flags=re.MULTILINE)
        for written, real in stand_ins.items():
            text = text.replace(written, real)
        lines += [f"echo '=== block {number}' >&2", text]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_SEC + 30)
def test_every_command_of_the_readme_works_when_pasted(tmp_path, s3_endpoint, database_url):
    copy, cache = fresh_copy(tmp_path / "bench-assets"), tmp_path / "cache"
    prefix = s3_endpoint.new_prefix()
    stand_ins = {
        "s3://my-bucket/bench": f"s3://{s3_endpoint.bucket}/{prefix}",
        "postgresql://me:secret@127.0.0.1:5432/bench": database_url,
    }
    assert all(written in README for written in stand_ins)
    with OpenAIEndpoint(answer=lambda _: verdict("incorrect")) as judge:
        provided = {"OPENAI_BASE_URL": judge.base_url, "OPENAI_API_KEY": "key-of-the-test", **s3_endpoint.environment}
        done = subprocess.run(
            ["bash", "-c", session(stand_ins)],
            cwd=copy,
            env=clean_environment(copy, cache=cache) | provided,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SEC,
            check=False,
        )
        said = f"{done.stdout[-4000:]}\n--- standard error\n{done.stderr[-6000:]}"
        assert done.returncode == 0, said
        assert judge.requests
    assert running_in(copy) == []
    check_the_demo_says_what_the_readme_shows(done.stdout)
    check_things_land_where_the_readme_says(copy, cache)
    check_s3_and_postgres(s3_endpoint, prefix, database_url)


def check_the_demo_says_what_the_readme_shows(stdout: str) -> None:
    (shown,) = blocks(README, "text")
    rows = [line.rpartition("│ 2")[0] for line in shown.text.splitlines() if line.startswith("│ abacus@")]
    verdict = [line for line in shown.text.splitlines() if line.startswith("gate: ")]
    assert (len(rows), len(verdict)) == (2, 1)
    for row in rows + verdict:
        assert row in stdout


def check_things_land_where_the_readme_says(copy: Path, cache: Path) -> None:
    runs = sorted((copy / ".bench" / "runs").iterdir())
    finished = [run for run in runs if (run / "summary.json").exists()]
    assert len(finished) == len(runs) >= 8
    for run in runs:
        assert {path.name for path in run.iterdir()} - BESIDE_A_BASELINE == FILES
    assets = ("plan", "answers", "scores", "summary")
    for place, what in table(README, "place"):
        written, *_ = named(place)  # further ones are made by commands that the README only names
        if written == ".bench/runs/<run_id>/":
            assert set(named(what)) == FILES | BESIDE_A_BASELINE
        paths = [written]
        if "<run_id>" in written:
            paths = [written.replace("<run_id>", run.name) for run in runs]
        elif "<asset>" in written:
            folder = written.replace("<name>", "word_arithmetic").replace("<version>", "1.0")
            paths = [folder.replace("<asset>", asset) for asset in assets]
        for path in paths:
            at = cache if path == "~/.cache/bench-assets/" else copy / path
            assert list(at.iterdir()), f"the README says that `{path}` holds {what}"


def check_s3_and_postgres(endpoint, prefix: str, database_url: str) -> None:
    listed = endpoint.client().list_objects_v2(Bucket=endpoint.bucket, Prefix=f"{prefix}/runs/")["Contents"]
    assert {entry["Key"].rpartition("/")[2] for entry in listed} == FILES
    engine = create_engine(parse_url(database_url))
    found = inspect(engine)
    (what,) = (what for place, what in table(README, "place") if "postgres" in place)
    rows = [name for name in named(what) if "/" not in name]
    assert set(rows) == {*found.get_table_names(), *found.get_view_names()} - {REVISION_TABLE}
    engine.dispose()


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_SEC)
def test_the_step_for_ci_fails_on_a_version_that_must_not_ship(tmp_path):
    copy, cache = fresh_copy(tmp_path / "bench-assets"), tmp_path / "cache"
    repository = copy / ".bench" / "demo" / "abacus"
    (block,) = blocks(README, "yaml")
    ((step,),) = [yaml.safe_load(block.text)]
    shell = clean_environment(copy, cache=cache) | {"DAGSTER_HOME": str(copy / "dagster_home")}
    shell["PATH"] = f"{copy}/.venv/bin:{shell['PATH']}"

    def sh(script: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        command = ["bash", "-e", "-c", script]
        environment = shell | variables
        return subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=200, check=False
        )

    assert sh(f"python examples/abacus/make_repository.py {repository}").returncode == 0
    commit(repository, "as it was", tag="v0.9.0")  # the newest solver, under an older version's name
    git(repository, "checkout", "--quiet", "v1.0.0")
    commit(repository, "a step back", tag="v1.0.1")
    good = sh(step["run"], CANDIDATE="abacus@v0.9.0")
    assert good.returncode == 0, good.stderr
    bad = sh(step["run"], CANDIDATE="abacus@v1.0.1")
    assert bad.returncode == 1, bad.stderr
    assert "gate: NO-GO, held against abacus@v0.9.0" in bad.stdout
    assert "NO-GO: abacus@v1.0.1 on word" in (copy / "gate.md").read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize("target", links(README))
def test_what_the_readme_links_to_is_there(target):
    assert (ROOT / target).exists()


def test_the_make_targets_that_the_readme_names_have_their_line_in_make_help():
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    targets = {line.split()[0] for line in listed.splitlines()}
    assert set(re.findall(r"\bmake ([a-z]+)\b(?=`|\s+#)", README)) <= targets


def test_the_exit_codes_of_the_readme_are_those_of_the_command():
    assert [row[0] for row in table(README, "exit code of `bench-assets run`")] == ["0", "1", "2", "130"]
    codes = [(row[1].split(",")[0], int(row[0])) for row in table(README, "exit code of `bench-assets gate`")]
    assert dict(codes) == EXIT_CODES
