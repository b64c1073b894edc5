"""What a judge said once is not paid for again: over runs, candidates and resumed runs."""

import pytest

from tests.endtoend.project import ECHO, quiz, records, write_package
from tests.fakes.openai_endpoint import OpenAIEndpoint, verdict


def by_golden(request):
    judged = request.judged
    return verdict("correct" if judged["golden"] == judged["answer"] else "incorrect", "compared")


@pytest.fixture
def command(project):
    benchmark = project.benchmark(quiz(6), judge="{type: llm, model: judge-1}")
    return ("run", "--benchmark", benchmark, "--agent-entry-point", "agent", "--agent")


def test_another_run_and_another_candidate_with_the_same_answers_cost_nothing(project, command):
    write_package(project.folder / "one", ECHO)
    write_package(project.folder / "other", ECHO + "\n# another version, with the same answers\n")
    with OpenAIEndpoint(answer=by_golden) as endpoint:
        project.variables |= {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-test-1"}
        asked = []
        for agent in ("./one", "./one", "./other"):
            done = project.cli(*command, agent)
            assert done.returncode == 0, done.stderr
            asked.append(len(endpoint.requests))
        assert asked == [6, 6, 6]
        scores = [records(run / "scores.jsonl") for run in project.runs()]
        assert [{score["cached"] for score in run} for run in scores] == [{False}, {True}, {True}]
        assert len({tuple(score["label"] for score in run) for run in scores}) == 1

        newest = project.runs()[-1]
        before = {name: (newest / name).read_bytes() for name in ("scores.jsonl", "summary.json", "run.json")}
        done = project.cli(*command, "./other", "--resume")
        assert done.returncode == 0, done.stderr
        assert len(endpoint.requests) == 6
        assert {name: (newest / name).read_bytes() for name in before} == before

        done = project.cli(*command, "./one", "--no-verdict-cache")
        assert done.returncode == 0, done.stderr
        assert len(endpoint.requests) == 12
    assert list((project.storage / "verdicts").iterdir())
