"""A real language model judges a benchmark: a poor judge, through the whole of the plumbing."""

import json

import pytest

from bench_assets.contracts.outcome import LABELS
from tests.endtoend.project import ECHO, quiz, records, strict, write_package

SCHEMA = {
    "type": "object",
    # Left alone, so small a model writes reasons until it runs into its token limit.
    "properties": {"reason": {"type": "string", "maxLength": 120}, "label": {"type": "string", "enum": list(LABELS)}},
    "required": ["reason", "label"],
}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_real_model_judges_a_benchmark_in_the_right_form(project, small_llm):
    write_package(project.folder / "agent", ECHO)
    form = json.dumps({"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}})
    where = f"provider: vllm, model: small, base_url: '{small_llm}', max_tokens: 200, concurrency: 2"
    judge = f"{{type: llm, {where}, response_format: {form}}}"
    benchmark = project.benchmark(quiz(8), judge=judge)
    command = ("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    done = project.cli(*command)
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    scores = records(run / "scores.jsonl")
    judged = [score for score in scores if score["label"]]
    # It may run into its token limit and be cut off; what it says otherwise is a verdict, in the order asked for.
    assert len(judged) >= 6
    for score in judged:
        assert list(json.loads(score["replies"][-1])) == ["reason", "label"]
        assert json.loads(score["replies"][-1])["label"] == score["label"]
    assert {score["error"]["code"] for score in scores if score["error"]} <= {"truncated", "broken_json"}
    judging = strict((run / "summary.json").read_text())["judging"]
    assert judging["tokens"]["completion_tokens"] > 0
    assert judging["calls"] >= len(scores)

    again = project.cli(*command)
    assert again.returncode == 0, again.stderr
    kept = records(project.runs()[-1] / "scores.jsonl")
    assert [score["label"] for score in kept if score["cached"]] == [score["label"] for score in judged]
