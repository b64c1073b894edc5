"""`bench-assets run`, from start to end."""

import pytest

from tests.endtoend.project import ECHO, commit, quiz, records, strict, write_package

FILES = {"answers.jsonl", "environment.lock", "run.json", "scores.jsonl", "summary.json", "gate.json", "report.html"}


@pytest.fixture
def echo(project):
    return write_package(project.folder / "agent", ECHO)


def test_a_run_ends_with_its_files_its_figures_and_a_zero(project, echo):
    benchmark = project.benchmark(quiz(8))
    done = project.cli("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    assert done.returncode == 0, done.stderr
    assert "75.0%" in done.stdout
    (run,) = project.runs()
    assert str(run) in done.stdout
    assert {path.name for path in run.iterdir()} >= FILES
    answers, scores = records(run / "answers.jsonl"), records(run / "scores.jsonl")
    assert sorted(answer["id"] for answer in answers) == [f"q{n}" for n in range(1, 9)]
    assert [answer["id"] for answer in answers] == [score["id"] for score in scores]
    first = next(answer for answer in answers if answer["id"] == "q1")
    assert (first["question"], first["answer"], first["golden"], first["attempt"]) == ("word 1", "WORD 1", "WORD 1", 1)
    assert {score["value"] for score in scores} == {0.0, 1.0}
    summary, provenance = strict((run / "summary.json").read_text()), strict((run / "run.json").read_text())
    assert (summary["total"], summary["attempted"], summary["correct"], summary["accuracy"]) == (8, 8, 6, 0.75)
    assert summary["judged"] is True
    assert provenance["run_id"] == run.name
    assert (provenance["benchmark"], provenance["status"], provenance["agent_entry_point"]) == (
        "quiz@1.0",
        "finished",
        "agent",
    )
    assert provenance["start_time"] <= provenance["finish_time"]
    assert "my-agent" in (run / "environment.lock").read_text()


def test_the_same_command_again_reuses_the_environment_and_makes_a_new_run(project, echo):
    command = ("run", "--benchmark", project.benchmark(quiz()), "--agent", "./agent", "--agent-entry-point", "agent")
    first, second = project.cli(*command), project.cli(*command)
    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    assert "reused in" in second.stderr
    assert len(project.runs()) == 2


def test_a_tag_a_subdirectory_and_a_second_package_of_one_repository(project):
    repository = project.folder / "repository"
    adapter = (
        "import brain\n\nclass Agent:\n    run = staticmethod(brain.think)\n\ndef make_agent():\n    return Agent()\n"
    )
    write_package(repository / "packages" / "adapter", adapter, name="adapter", dependencies=("brain",))
    write_package(
        repository / "packages" / "brain", "def think(text):\n    return 'old ' + text\n", name="brain", is_agent=False
    )
    first = commit(repository, "one", tag="v1")
    write_package(
        repository / "packages" / "brain", "def think(text):\n    return 'new ' + text\n", name="brain", is_agent=False
    )
    second = commit(repository, "two")
    benchmark = project.benchmark([{"id": "q1", "question": "x", "golden": "new x"}])

    def run(ref: str) -> tuple[str, str]:
        url = f"git+file://{repository}@{ref}#subdirectory=packages"
        done = project.cli(
            "run", "--benchmark", benchmark, "--agent", f"{url}/adapter", "--agent-extra-dep", f"{url}/brain",
            "--agent-entry-point", "agent",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        newest = project.runs()[-1]
        return records(newest / "answers.jsonl")[0]["answer"], strict((newest / "run.json").read_text())["commit"]

    assert run("v1") == ("old x", first)
    assert run("main") == ("new x", second)
    write_package(
        repository / "packages" / "brain",
        "def think(text):\n    return 'newest ' + text\n",
        name="brain",
        is_agent=False,
    )
    third = commit(repository, "three")
    assert run("main") == ("newest x", third)


def test_a_resumed_run_asks_only_what_has_no_answer(project):
    asked = project.folder / "asked"
    source = f"""\
import pathlib

class Agent:
    def run(self, question):
        with open({str(asked)!r}, "a") as file:
            file.write(question + "\\n")
        if question == "word 2" and not pathlib.Path({str(asked)!r} + ".healed").exists():
            raise RuntimeError("the provider is down")
        return question.upper()

def make_agent():
    return Agent()
"""
    write_package(project.folder / "agent", source)
    command = ("run", "--benchmark", project.benchmark(quiz()), "--agent", "./agent", "--agent-entry-point", "agent")
    assert project.cli(*command).returncode == 0
    (run,) = project.runs()
    assert strict((run / "summary.json").read_text())["outcomes"]["agent_error"] == 1
    error = next(answer["error"] for answer in records(run / "answers.jsonl") if answer["id"] == "q2")
    assert (error["kind"], error["message"]) == ("agent_error", "RuntimeError: the provider is down")

    (project.folder / "asked.healed").touch()
    again = project.cli(*command, "--resume")
    assert again.returncode == 0, again.stderr
    assert sorted(asked.read_text().split("\n")[:-1]) == sorted(["word 1", "word 2", "word 3", "word 4", "word 2"])
    assert project.runs() == [run]
    summary = strict((run / "summary.json").read_text())
    assert (summary["total"], summary["correct"], summary["errors"]) == (4, 3, 0)

    other = project.cli(*command, "--resume", "--timeout", "7")
    assert other.returncode == 2
    assert "timeout_sec" in other.stderr
    assert "another run" in other.stderr


def test_a_sample_is_kept_in_run_json_and_repeats_are_executions(project, echo):
    benchmark = project.benchmark(quiz(40))
    command = ("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    chosen = []
    for seed in ("1", "2", "1"):
        done = project.cli(*command, "--sample", "3", "--seed", seed, "--repeats", "2", "--description", "smoke")
        assert done.returncode == 0, done.stderr
        newest = project.runs()[-1]
        run, answers = strict((newest / "run.json").read_text()), records(newest / "answers.jsonl")
        assert len({(answer["id"], answer["repetition"]) for answer in answers}) == len(answers) == 6
        assert {answer["id"] for answer in answers} == set(run["selection"]["ids"])
        assert (run["seed"], run["sample"], run["repeats"], run["description"]) == (int(seed), 3, 2, "smoke")
        summary = strict((newest / "summary.json").read_text())
        assert (summary["questions"], summary["executions"], summary["partial"]) == (3, 6, True)
        chosen.append(run["selection"]["ids"])
    assert chosen[0] == chosen[2] != chosen[1]


def test_answers_can_be_kept_now_and_judged_later(project, echo):
    benchmark = project.benchmark(quiz())
    command = ("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    done = project.cli(*command, "--skip-judge", "--run-id", "nightly-1")
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    assert run.name == "nightly-1"
    assert not (run / "scores.jsonl").exists()
    assert strict((run / "run.json").read_text())["status"] == "checkpoint"
    again = project.cli(*command, "--resume", "--output-dir", "out")
    assert again.returncode == 0, again.stderr
    assert project.runs() == [run]
    assert strict((run / "summary.json").read_text())["judged"] is True
    assert {path.name for path in (project.folder / "out" / "nightly-1").iterdir()} >= FILES


def test_a_taken_run_id_is_refused_before_anything_is_asked(project, echo):
    benchmark = project.benchmark(quiz())
    command = (
        "run",
        "--benchmark",
        benchmark,
        "--agent",
        "./agent",
        "--agent-entry-point",
        "agent",
        "--run-id",
        "mine",
    )
    assert project.cli(*command).returncode == 0
    done = project.cli(*command, "--limit", "2")
    assert done.returncode == 1
    assert "`mine` is taken" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--agent", "./nowhere", "--agent-entry-point", "agent"], "nowhere"),
        (["--agent", "./agent"], "--agent-entry-point"),
        (["--agent", "./agent", "--agent-entry-point", "a", "--agent-import-path", "b:c"], "exactly one"),
        (["--agent", "./agent", "--agent-entry-point", "agent", "--sample", "99"], "4 questions"),
        (["--agent", "./agent", "--agent-entry-point", "agent", "--limit", "0"], "limit"),
        (["--agent", "./agent", "--agent-entry-point", "agent", "--run-id", "../up"], "run_id"),
        (["--agent", "./agent", "--agent-entry-point", "agent", "--env-override", "NOVALUE"], "NAME=VALUE"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(project, echo, options, said):
    done = project.cli("run", "--benchmark", project.benchmark(quiz()), *options)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project.storage / "runs").exists()


def test_a_broken_benchmark_is_refused_with_file_and_line(project, echo):
    project.benchmark(quiz() + [{"id": "q1", "question": "again", "golden": "x"}])
    done = project.cli("run", "--benchmark", "quiz@1.0", "--agent", "./agent", "--agent-entry-point", "agent")
    assert done.returncode == 2
    assert "dataset.jsonl:5: the id `q1` stands on line 1 and again on line 5" in done.stderr
    checked = project.cli("validate", "benchmarks/quiz/1.0")
    assert checked.returncode == 2
    assert "line 5" in checked.stderr


def test_an_agent_that_cannot_start_ends_the_run_with_the_reason_and_a_one(project):
    write_package(project.folder / "agent", "import not_installed_pkg\n")
    command = ("run", "--benchmark", project.benchmark(quiz()), "--agent", "./agent")
    done = project.cli(*command, "--agent-entry-point", "agent")
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr
    assert "not_installed_pkg" in done.stderr
    other = project.cli(*command, "--agent-entry-point", "agnet")
    assert other.returncode == 1
    assert "agnet" in other.stderr
    assert "`agent`" in other.stderr


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("BENCH_POSTGRES_URL", "postgresql://me:s3cr3t@127.0.0.1:9/bench", "127.0.0.1"),
        ("BENCH_POSTGRES_URL", "mysql://me:s3cr3t@127.0.0.1/bench", "mysql"),
        ("BENCH_STORAGE", "ftp://somewhere", "ftp"),
        ("DAGSTER_HOME", "relative/folder", "absolute path"),
        ("BENCH_PROJECT", "/nowhere/at/all", "/nowhere/at/all"),
    ],
)
def test_a_place_that_cannot_be_used_is_named_before_anything_is_spent(project, echo, variable, value, said):
    benchmark = project.benchmark(quiz())
    project.variables[variable] = value
    done = project.cli("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "s3cr3t" not in done.stderr
    assert not (project.storage / "environments").exists()
