"""What a stopped, repeated or changed run costs: only what was never answered."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.endtoend.project import quiz, records, strict, wait_until_gone, write_package

COUNTING = """\
import json
import os
import pathlib
import time

CONTROL = pathlib.Path(os.environ["CONTROL"])

class Agent:
    def run(self, question):
        control = json.loads(CONTROL.read_text())
        with open(os.environ["ASKED"], "a") as file:
            file.write(question + "\\n")
        time.sleep(control.get("delay", 0))
        if question in control.get("failing", []):
            raise RuntimeError("down")
        return question.upper()

    def describe(self):
        return {"model": json.loads(CONTROL.read_text()).get("model", "m1")}

make_agent = Agent
"""
"""Notes each question it is asked in a file; another file tells it what to do."""


@pytest.fixture
def counting(project):
    write_package(project.folder / "agent", COUNTING)
    project.variables |= {"ASKED": str(project.folder / "asked"), "CONTROL": str(project.folder / "control")}
    tell(project)
    names = [option for name in ("ASKED", "CONTROL", "MODEL_NAME", "API_KEY") for option in ("--agent-env", name)]
    project.benchmark(quiz(8))
    return ["run", "--benchmark", "quiz@1.0", "--agent", "./agent", "--agent-entry-point", "agent", *names]


def tell(project, **control) -> None:
    """Tell the agent what to do from now on."""
    (project.folder / "control").write_text(json.dumps(control), encoding="utf-8")


def asked(project) -> list[str]:
    """Return the questions asked since the last look, sorted."""
    path = project.folder / "asked"
    found = path.read_text().split("\n")[:-1] if path.exists() else []
    path.unlink(missing_ok=True)
    return sorted(found)


def rows(*changed: dict) -> list[dict]:
    """Return the quiz with some rows replaced, by id, or added."""
    return list(({row["id"]: row for row in quiz(8)} | {row["id"]: row for row in changed}).values())


def test_only_what_changed_is_asked_when_rows_changed(project, counting):
    assert project.cli(*counting).returncode == 0
    assert len(asked(project)) == 8
    first = project.runs()[0].name
    edited = {"id": "q1", "question": "word one", "golden": "WORD ONE"}
    regraded = {"id": "q4", "question": "word 4", "golden": "WORD 4"}
    project.benchmark(rows(edited, regraded, {"id": "q9", "question": "word 9", "golden": "WORD 9"})[::-1])
    done = project.cli(*counting, "--resume")
    assert done.returncode == 0, done.stderr
    assert "reused 6 · question changed 1 · golden changed 1 (re-judged only) · new 1" in done.stderr
    assert asked(project) == ["word 9", "word one"]
    second = project.runs()[1]
    answers = {answer["id"]: answer for answer in records(second / "answers.jsonl")}
    assert len(answers) == 9
    assert all(answer["answer"] == answer["question"].upper() for answer in answers.values())
    assert {answer["reused_from"] for name, answer in answers.items() if name not in ("q1", "q9")} == {first}
    assert answers["q9"]["reused_from"] is None
    assert strict((second / "summary.json").read_text())["correct"] == 8


def test_a_new_run_can_take_over_what_is_the_same(project, counting):
    assert project.cli(*counting, "--sample", "4", "--seed", "1").returncode == 0
    before = asked(project)
    done = project.cli(*counting, "--sample", "4", "--seed", "2", "--resume")
    assert done.returncode == 2
    assert "selection.seed: 1 → 2" in done.stderr
    done = project.cli(*counting, "--sample", "4", "--seed", "2", "--reuse-answers")
    assert done.returncode == 0, done.stderr
    chosen = {answer["question"] for answer in records(project.runs()[-1] / "answers.jsonl")}
    assert set(asked(project)) == chosen - set(before)
    assert len(chosen) == 4


def test_another_agent_or_another_model_is_another_run(project, counting):
    assert project.cli(*counting).returncode == 0
    asked(project)
    tell(project, model="m2")
    (journal,) = (project.storage / "checkpoints").glob("*/000.jsonl")
    journal.write_bytes(journal.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[0] + b"\n")  # one answer is open
    done = project.cli(*counting, "--resume")
    assert done.returncode == 2
    assert "m2" in done.stderr
    assert asked(project) == []
    write_package(project.folder / "agent", COUNTING + "# changed\n")
    done = project.cli(*counting, "--resume")
    assert done.returncode == 2
    assert "environment.source.tree" in done.stderr
    assert asked(project) == []


def test_another_value_of_a_variable_is_another_run_but_a_new_key_is_not(project, counting):
    project.variables |= {"MODEL_NAME": "small", "API_KEY": "one"}
    assert project.cli(*counting, "--skip-judge").returncode == 0
    asked(project)
    project.variables["API_KEY"] = "two"
    done = project.cli(*counting, "--resume")
    assert done.returncode == 0, done.stderr
    project.variables["MODEL_NAME"] = "large"
    refused = project.cli(*counting, "--resume")
    assert refused.returncode == 2
    assert "seen_env" in refused.stderr
    assert asked(project) == []
    assert project.cli(*counting, "--reuse-answers").returncode == 0
    assert len(asked(project)) == 8


def test_only_some_of_what_failed_can_be_run_again(project, counting):
    tell(project, failing=["word 2", "word 3"])
    assert project.cli(*counting).returncode == 0
    assert len(asked(project)) == 8
    tell(project)
    assert project.cli(*counting, "--only", "judge_error").returncode == 0
    assert project.cli(*counting, "--only", "errored:timeout").returncode == 0
    assert project.cli(*counting, "--only", "missing").returncode == 0
    assert asked(project) == []
    assert project.cli(*counting, "--only", "errored:agent_error").returncode == 0
    assert asked(project) == ["word 2", "word 3"]
    (run,) = project.runs()
    again = next(answer for answer in records(run / "answers.jsonl") if answer["id"] == "q2")
    assert [attempt["cause"] for attempt in again["attempts"]] == ["agent_error", "answered"]
    wrong = project.cli(*counting, "--only", "nonsense")
    assert wrong.returncode == 2
    assert "`nonsense`" in wrong.stderr


def start(project, command) -> subprocess.Popen:
    """Start the command in a process of its own, in the background."""
    program = [sys.executable, "-m", "bench_assets", *command]
    return subprocess.Popen(
        program, cwd=project.folder, env=project.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def wait_for_questions(project, count: int) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        path = project.folder / "asked"
        if path.exists() and len(path.read_text().split("\n")) > count:
            return
        time.sleep(0.02)
    raise AssertionError("the agent was not asked in time")


def left_behind(project) -> list[int]:
    """Return the processes that work for this project's agent and do not end in a few seconds."""
    return wait_until_gone(f"ASKED={project.folder / 'asked'}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_keeps_what_was_answered_and_says_how_far_it_came(project, counting, number):
    tell(project, delay=0.4)
    running = start(project, [*counting, "--parallelism", "1"])
    wait_for_questions(project, 2)
    os.kill(running.pid, number)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 130, stderr
    assert "--resume" in stderr
    assert left_behind(project) == []
    (run,) = project.runs()
    assert strict((run / "run.json").read_text())["status"] == "interrupted"
    assert not (run / "summary.json").exists()
    kept = records(run / "answers.jsonl")
    first = asked(project)
    told = project.cli("status", run.name).stdout
    assert f"interrupted, {len(kept)} of 8 executions settled" in told
    assert "accuracy" not in told
    tell(project)
    done = project.cli(*counting, "--resume")
    assert done.returncode == 0, done.stderr
    assert project.runs() == [run]
    again = asked(project)
    assert not {answer["question"] for answer in kept} & set(again)
    assert set(first) | set(again) == {f"word {n}" for n in range(1, 9)}
    assert strict((run / "run.json").read_text())["status"] == "finished"
    assert "accuracy 75.0%" in project.cli("status", run.name).stdout


def test_a_killed_run_loses_nothing_even_when_killed_again_at_once(project, counting):
    command = [*counting, "--parallelism", "1"]
    tell(project, delay=0.4)
    running = start(project, command)
    wait_for_questions(project, 3)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    for _ in range(2):
        again = start(project, [*command, "--resume"])
        time.sleep(2.5)
        os.kill(again.pid, signal.SIGKILL)
        again.communicate(timeout=30)
    assert left_behind(project) == []
    settled = [
        json.loads(line)
        for path in (project.storage / "checkpoints").glob("*/0*.jsonl")
        for line in path.read_text().split("\n")
        if line
    ]
    answered = {record["id"] for record in settled if record.get("answer")}
    assert answered
    asked(project)
    tell(project)
    done = project.cli(*command, "--resume")
    assert done.returncode == 0, done.stderr
    assert not {f"word {name[1:]}" for name in answered} & set(asked(project))
    (run,) = project.runs()
    assert strict((run / "summary.json").read_text())["correct"] == 6
