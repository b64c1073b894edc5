"""Answers judged by a model, behind an endpoint of the test's own."""

import json

import pytest

from tests.endtoend.project import ECHO, quiz, records, strict, write_package
from tests.fakes.openai_endpoint import OpenAIEndpoint, error, verdict

JUDGE = "{type: llm, model: judge-1, rubric: be strict, retries: 0}"


def by_golden(request):
    judged = request.judged
    return verdict("correct" if judged["golden"] == judged["answer"] else "incorrect", "compared")


@pytest.fixture
def judged(project):
    write_package(project.folder / "agent", ECHO)
    return (
        "run",
        "--benchmark",
        project.benchmark(quiz(8), judge=JUDGE),
        "--agent",
        "./agent",
        "--agent-entry-point",
        "agent",
    )


def test_a_model_judges_and_its_settings_are_kept_without_their_secrets(project, judged):
    overrides = {"model": "judge-2", "api_key": "sk-test-1", "headers": {"X-Team": "t-77"}, "top_p": 0.1}
    with OpenAIEndpoint(answer=by_golden) as endpoint:
        project.variables |= {
            "OPENAI_BASE_URL": endpoint.base_url,
            "BENCH_LLM_JUDGE_KWARGS": json.dumps(overrides),
        }
        done = project.cli(*judged)
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    scores, provenance = records(run / "scores.jsonl"), strict((run / "run.json").read_text())
    assert [score["label"] for score in scores].count("correct") == 6
    assert {(score["method"], score["reason"]) for score in scores} == {("llm_judge", "compared")}
    assert len(endpoint.requests) == 8
    judge = provenance["judge"]
    assert (judge["model"], judge["api_key"], judge["headers"], judge["top_p"]) == (
        "judge-2",
        "***",
        {"X-Team": "***"},
        0.1,
    )
    assert provenance["judge_identity"]["model"] == "judge-2"
    kept = [path for path in project.folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if b"sk-test-1" in path.read_bytes() or b"t-77" in path.read_bytes()]


def test_what_the_judge_cannot_tell_is_no_wrong_answer(project, judged):
    def sometimes(request):
        return error(500, "sk-test-1 is broken") if request.judged["question"] == "word 3" else by_golden(request)

    with OpenAIEndpoint(answer=sometimes) as endpoint:
        project.variables |= {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-test-1"}
        done = project.cli(*judged)
        assert done.returncode == 0, done.stderr
        (run,) = project.runs()
        summary = strict((run / "summary.json").read_text())
        assert (summary["total"], summary["correct"], summary["judged"]) == (8, 5, False)
        assert summary["outcomes"]["judge_error"] == 1
        failed = next(score for score in records(run / "scores.jsonl") if score["id"] == "q3")
        assert (failed["label"], failed["value"], failed["outcome"]) == (None, None, "judge_error")
        assert "sk-test-1" not in (run / "scores.jsonl").read_text() + done.stdout + done.stderr


def test_a_judge_without_its_key_is_refused_before_the_agent_is_asked(project, judged):
    done = project.cli(*judged)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert not (project.storage / "quiz").exists()


def test_a_refused_key_ends_the_run_with_the_answers_kept(project, judged):
    with OpenAIEndpoint(answer=lambda _: error(401, "no such key: sk-test-1")) as endpoint:
        project.variables |= {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-test-1"}
        done = project.cli(*judged)
    assert done.returncode == 1
    assert "401" in done.stderr
    assert "sk-test-1" not in done.stderr
    stored = list((project.storage / "quiz" / "1.0" / "answers").rglob("*.jsonl"))
    assert sum(len(records(path)) for path in stored) == 8
    with OpenAIEndpoint(answer=by_golden) as endpoint:
        project.variables |= {"OPENAI_BASE_URL": endpoint.base_url}
        again = project.cli(*judged, "--resume")
    assert again.returncode == 0, again.stderr
    assert strict((project.runs()[-1] / "summary.json").read_text())["correct"] == 6
