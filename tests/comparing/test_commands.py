"""`bench-assets compare`, `gate`, `report`, `history` and `leaderboard`."""

import json
import subprocess
import sys

import pytest

from bench_assets.stages.comparison import report_of
from tests.comparing.storing import Runs
from tests.endtoend.project import ECHO, quiz, strict, write_package

SAID = "gate: NO-GO, held against kg@v1: -50.0 points"


def test_compare_names_what_differs_before_the_figures(runs):
    runs.add("kg@v1", right=30)
    runs.add("kg@v2", right=20, limit=30)
    done = runs.project.cli("compare", "kg@v1", "kg@v2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "not comparable on quiz@1.0"
    assert "blocks: Left out: 10 questions asked of the baseline and not of the candidate" in lines[1]
    assert "On the 30 common questions: " in done.stdout
    assert "topic = a (n = 10)" in done.stdout
    assert "broken: 10 (q20, q21" in done.stdout


def test_compare_as_json_is_the_whole_comparison(runs):
    runs.add("kg@v1", right=30)
    run_id = runs.add("kg@v2", right=10)
    found = strict(runs.project.cli("compare", "kg@v1", run_id, "--json").stdout)
    assert (found["effect"]["n"], found["effect"]["delta"], found["counts"]["broken"]) == (40, -0.5, 20)
    assert len(found["transitions"]) == 40


def test_compare_refuses_a_meta_field_that_is_not_there(runs):
    runs.add("kg@v1", right=30)
    done = runs.project.cli("compare", "kg@v1", "kg@v1", "--by", "country")
    assert done.returncode == 2
    assert "`country`" in done.stderr
    assert "`topic`" in done.stderr


@pytest.mark.parametrize(("right", "verdict", "code"), [(40, "GO", 0), (10, "NO-GO", 1), (29, "INCONCLUSIVE", 2)])
def test_the_gates_exit_code_is_its_verdict(runs, right, verdict, code):
    runs.decided("kg@v1", right=30)
    runs.add("kg@v2", right=right)
    done = runs.project.cli("gate", "kg@v2", "--markdown", "gate.md")
    assert done.returncode == code, done.stderr
    assert f"gate: {verdict}, held against kg@v1" in done.stdout
    summary = (runs.project.folder / "gate.md").read_text(encoding="utf-8")
    assert f"{verdict}: kg@v2 on quiz@1.0" in summary.splitlines()[0]
    decision = strict(runs.project.cli("gate", "kg@v2", "--json").stdout)
    assert (decision["verdict"], decision["baseline"]) == (verdict, "kg@v1")


def test_the_gate_can_be_asked_about_another_baseline_and_stores_nothing(runs):
    runs.decided("kg@v1", right=30)
    run_id = runs.add("kg@v2", right=10)
    before = sorted(path for path in runs.project.storage.rglob("*") if path.is_file())
    assert runs.project.cli("gate", "kg@v1", "--baseline", run_id).returncode == 0
    done = runs.project.cli("gate", run_id, "--baseline", "kg@v1", "--benchmark", "quiz@1.0")
    assert (done.returncode, SAID in done.stdout) == (1, True)
    assert "chosen by hand" in done.stdout
    assert sorted(path for path in runs.project.storage.rglob("*") if path.is_file()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kg@v9"], "`kg@v9` has no finished run"),
        (["no-such-run"], "no finished run `no-such-run`"),
        (["kg@v1", "--baseline", "kg@v9"], "`kg@v9` has no finished run"),
        (["kg@v1", "--benchmark", "nothing@1"], "on `nothing@1`"),
    ],
)
def test_what_keeps_the_gate_from_deciding_is_never_a_go_and_never_a_no_go(runs, arguments, said):
    runs.add("kg@v1", right=30)
    done = runs.project.cli("gate", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_gate_of_a_damaged_store_does_not_say_no_go(runs):
    run_id = runs.add("kg@v1", right=30)
    scores = runs.file(run_id, "scores.jsonl")
    scores.write_bytes(scores.read_bytes()[:-20])
    done = runs.project.cli("gate", "kg@v1")
    assert done.returncode == 2
    assert "scores.jsonl:40: the line is not JSON" in done.stderr


def test_a_report_is_one_file_with_the_decision_and_the_history(runs):
    runs.decided("kg@v1", right=30)
    made = runs.decided("kg@v2", right=10)
    done = runs.project.cli("report", "kg@v2")
    assert done.returncode == 0, done.stderr
    name = f"report-{made.decision.run_id}.html"
    assert done.stdout == f"{name}\n"
    page = (runs.project.folder / name).read_text(encoding="utf-8")
    assert "✕ NO-GO" in page
    assert page.count("kg@v1") > 3
    assert page == "".join(report_of(runs.workspace, made))


def test_a_report_of_two_runs_holds_the_last_against_the_first(runs):
    runs.decided("kg@v1", right=30)
    runs.decided("kg@v2", right=10)
    done = runs.project.cli("report", "kg@v2", "kg@v1", "--output", "out/back.html")
    assert done.returncode == 0, done.stderr
    page = (runs.project.folder / "out" / "back.html").read_text(encoding="utf-8")
    assert "<title>GO: kg@v1 on quiz@1.0</title>" in page
    assert "+50.0 points" in page


def test_a_report_of_three_runs_has_these_in_its_history(runs):
    ids = [runs.add("kg@v1", right=right) for right in (30, 20, 25)]
    done = runs.project.cli("report", *ids, "--output", "r.html")
    assert done.returncode == 0, done.stderr
    page = (runs.project.folder / "r.html").read_text(encoding="utf-8")
    assert all(f"{share} %" in page for share in ("75.0", "50.0", "62.5"))


def test_a_report_of_a_run_whose_benchmark_is_gone_shows_the_run_alone(runs):
    run_id = runs.add("kg@v1", right=30)
    (runs.project.folder / "benchmarks" / "quiz" / "1.0" / "benchmark.yaml").unlink()
    done = runs.project.cli("report", run_id, "--output", "r.html")
    assert done.returncode == 0, done.stderr
    assert "75.0 %" in (runs.project.folder / "r.html").read_text(encoding="utf-8")


INTERRUPTED = """\
import os
import signal

class Agent:
    def run(self, question):
        if question == "word 3":
            os.kill(int(os.environ["ORCHESTRATOR"]), signal.SIGTERM)
        return question.upper()

make_agent = Agent
"""


def test_a_report_of_an_interrupted_run_says_so_and_gives_no_figure(project):
    write_package(project.folder / "agent", INTERRUPTED)
    benchmark = project.benchmark(quiz(6))
    command = [sys.executable, "-m", "bench_assets", "run", "--benchmark", benchmark, "--agent", "./agent"]
    command += ["--agent-entry-point", "agent", "--parallelism", "1", "--run-id", "stopped"]
    shell = ["sh", "-c", 'exec "$@" --env-override ORCHESTRATOR=$$', "sh", *command]
    done = subprocess.run(shell, cwd=project.folder, env=project.environ, capture_output=True, timeout=120, check=False)
    assert done.returncode == 130
    told = project.cli("report", "stopped", "--output", "r.html")
    assert told.returncode == 0, told.stderr
    page = (project.folder / "r.html").read_text(encoding="utf-8")
    settled = len((project.storage / "runs" / "stopped" / "answers.jsonl").read_text().splitlines())
    assert 0 < settled < 6
    assert "<title>interrupted: " in page
    assert f"{settled} of 6 executions are settled, 0 of them with an error." in page
    assert "WORD 1" in page
    assert "Accuracy" not in page
    with_another = project.cli("report", "stopped", "stopped")
    assert with_another.returncode == 2
    assert "its status is `interrupted`" in with_another.stderr
    assert project.cli("gate", "stopped").returncode == 2


def test_a_report_of_a_run_that_nobody_knows_is_one_sentence(runs):
    done = runs.project.cli("report", "nobody")
    assert (done.returncode, "no run `nobody`" in done.stderr) == (2, True)


def test_history_goes_by_version_and_leaderboard_by_accuracy(runs):
    for candidate, right in (("kg@v1.10", 20), ("kg@v1.9", 30), ("kg@v1.9-rc1", 25), ("other@v1", 5)):
        runs.decided(candidate, right=right)
    history = strict(runs.project.cli("history", "--agent", "kg", "--json").stdout)
    assert [one["candidate"] for one in history] == ["kg@v1.9-rc1", "kg@v1.9", "kg@v1.10"]
    board = strict(runs.project.cli("leaderboard", "--json").stdout)
    assert [one["candidate"] for one in board["standings"]] == ["kg@v1.9", "kg@v1.9-rc1", "kg@v1.10", "other@v1"]
    shown = runs.project.cli("history", "--benchmark", "quiz@1.0").stdout
    assert shown.index("kg@v1.9-rc1") < shown.index("kg@v1.10") < shown.index("other@v1")
    ranked = runs.project.cli("leaderboard").stdout
    assert "differences against kg@v1.10" in ranked.splitlines()[0]
    assert ranked.index("kg@v1.9 ") < ranked.index("kg@v1.9-rc1") < ranked.index("other@v1")


def test_without_runs_history_and_leaderboard_say_so(project):
    Runs(project)
    assert "No version has a finished run on quiz@1.0 yet" in project.cli("history").stdout
    assert project.cli("leaderboard").returncode == 0
    project.benchmark(quiz(), name="other")
    done = project.cli("history")
    assert done.returncode == 2
    assert "`other@1.0`, `quiz@1.0`" in done.stderr


@pytest.mark.parametrize(
    "command",
    [["compare", "kg@v1", "kg@v2"], ["gate", "kg@v2"], ["report", "kg@v2"], ["history"], ["leaderboard"]],
    ids=lambda command: command[0],
)
def test_these_commands_need_no_dagster(runs, command):
    runs.decided("kg@v1", right=30)
    runs.decided("kg@v2", right=30)
    code = (
        "import sys; from bench_assets.cli.main import execute; execute(sys.argv[1:]); "
        "sys.exit(any(name.split('.')[0] == 'dagster' for name in sys.modules))"
    )
    done = runs.project.program(sys.executable, "-c", code, *command)
    assert done.returncode == 0, done.stderr


def test_a_run_ends_with_the_gates_verdict_and_its_own_exit_code(project):
    write_package(project.folder / "agent", ECHO)
    benchmark = project.benchmark(quiz(8), extra="gate: {must_pass: [q4]}\n")
    done = project.cli("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    assert done.returncode == 0, done.stderr
    assert "gate: NO-GO" in done.stdout
    assert "must pass: Not passed: 1 of the 1 questions that must pass (`q4`)." in done.stdout
    (run,) = project.runs()
    assert {path.name for path in run.iterdir()} >= {"gate.json", "report.html"}
    board = json.loads((project.storage / "quiz" / "1.0" / "leaderboard.json").read_text())
    assert [one["verdict"] for one in board["standings"]] == ["NO-GO"]


def test_a_run_is_done_even_when_it_cannot_be_compared(project):
    write_package(project.folder / "agent", ECHO)
    command = ("run", "--benchmark", project.benchmark(quiz(4)), "--agent", "./agent", "--agent-entry-point", "agent")
    torn = project.storage / "quiz" / "1.0" / "comparison" / "other@1.json"
    torn.parent.mkdir(parents=True)
    torn.write_text('{"schema_version": 1, "bench')
    done = project.cli(*command)
    assert done.returncode == 0, done.stderr
    assert f"comparison was not made: {torn} is not JSON" in done.stdout
    assert "gate:" not in done.stdout
    project.variables["BENCH_POSTGRES_URL"] = "mysql://nowhere"
    refused = project.cli(*command)
    assert refused.returncode == 2
    assert "BENCH_POSTGRES_URL is not the URL of a Postgres" in refused.stderr
