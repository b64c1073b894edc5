"""A judge held against people, and a second judge over kept answers."""

import csv
import json
import os
from pathlib import Path

import pytest

from tests.endtoend.project import ECHO, quiz, records, strict, write_package
from tests.fakes.openai_endpoint import OpenAIEndpoint, verdict

PUBLISHED = Path(os.environ.get("BENCH_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data") / "openqa_eval"


def by_model(request):
    judged = request.judged
    right = judged["golden"] == judged["answer"] and request.body["model"] != "harsh"
    return verdict("correct" if right else "incorrect", f"{request.body['model']} says so")


@pytest.fixture
def endpoint(project):
    with OpenAIEndpoint(answer=by_model) as endpoint:
        project.variables |= {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "sk-test-1"}
        yield endpoint


PRICES = "prices: {fair: {prompt: 10, completion: 20}}"
JUDGE = f"{{type: llm, model: fair, retries: 0, {PRICES}}}"


def run(project, *options):
    write_package(project.folder / "agent", ECHO)
    benchmark = project.benchmark(quiz(8), judge=JUDGE)
    done = project.cli("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent", *options)
    assert done.returncode == 0, done.stderr
    run.said = done.stdout
    return project.runs()[-1]


def test_a_calibration_is_bound_to_its_judge_and_named_in_the_summary(project, endpoint):
    folder = run(project)
    assert "never calibrated" in run.said
    judging = strict((folder / "summary.json").read_text())["judging"]
    assert judging["calibration"] is None
    assert judging["methods"] == {"llm_judge": 8}
    (labels,) = judging["labels"].values()
    assert labels == {"correct": 6, "incorrect": 2, "not_attempted": 0}
    assert (judging["calls"], judging["cached"], judging["tokens"]["total_tokens"]) == (8, 0, 120)
    assert judging["cost"] == pytest.approx(8 * (10 * 10 + 5 * 20) / 1e6)

    labelled = [
        {"question": "q", "golden": "A", "answer": "A", "label": "correct"},
        {"question": "q", "golden": "A", "answer": "a", "label": "correct"},
        {"question": "q", "golden": "A", "answer": "B", "label": "incorrect"},
        {"question": "q", "golden": ["B", "C"], "answer": "", "label": "not_attempted"},
    ]
    path = project.folder / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in labelled))
    done = project.cli("judge", "calibrate", "labelled.jsonl", "--benchmark", "quiz@1.0")
    assert done.returncode == 0, done.stderr
    assert "accuracy 75.0% of 4 rows, Cohen's kappa 0.636" in done.stdout
    (kept,) = (project.storage / "calibrations").iterdir()
    assert kept.stem == strict((folder / "run.json").read_text())["judge_identity"]["digest"]
    assert strict(kept.read_text())["confusion"]["correct"] == {"correct": 1, "incorrect": 1, "not_attempted": 0}

    again = run(project)
    assert "kappa 0.64 over 4 rows" in run.said
    judging = strict((again / "summary.json").read_text())["judging"]
    assert (judging["calibration"]["rows"], judging["calibration"]["judge"]) == (4, kept.stem)
    assert (judging["calls"], judging["cached"], judging["cost"]) == (0, 8, 0.0)

    project.variables["BENCH_LLM_JUDGE_KWARGS"] = json.dumps({"temperature": 0.5})
    other = run(project)
    assert strict((other / "summary.json").read_text())["judging"]["calibration"] is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("rows.jsonl", '{"question": "q", "golden": "g", "answer": "a", "label": "yes"}\n', "rows.jsonl:1: the label"),
        ("rows.jsonl", '{"question": "q"}\n', "rows.jsonl:1: a row needs"),
        ("rows.jsonl", "\n{oops\n", "rows.jsonl:2: the line is not JSON"),
        ("rows.csv", "question,golden,answer,label\nq,g,a,perhaps\n", "rows.csv:2: the label"),
        ("rows.jsonl", "", "holds no rows"),
        ("rows.txt", "x", "must be a .jsonl"),
    ],
)
def test_labelled_rows_that_cannot_be_used_are_refused_with_their_line(project, endpoint, name, text, said):
    project.benchmark(quiz(), judge=JUDGE)
    (project.folder / name).write_text(text)
    done = project.cli("judge", "calibrate", name, "--benchmark", "quiz@1.0")
    assert done.returncode == 2
    assert said in done.stderr
    assert endpoint.requests == []


def test_labelled_rows_may_be_a_table(project, endpoint):
    project.benchmark(quiz(), judge=JUDGE)
    text = 'question\tgolden\tanswer\tlabel\nq\t"[""A"", ""B""]"\tA\tincorrect\nq\tA\tA\tcorrect\n'
    (project.folder / "rows.tsv").write_text(text)
    done = project.cli("judge", "calibrate", "rows.tsv", "--benchmark", "quiz@1.0")
    assert done.returncode == 0, done.stderr
    goldens = [request.judged["golden"] for request in endpoint.requests]
    assert sorted(goldens, key=len) == ["A", ["A", "B"]]  # asked at the same time


def test_a_second_judge_scores_a_finished_run_and_both_scorings_stay(project, endpoint):
    folder = run(project)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    asked = len(endpoint.requests)
    same = project.cli("judge", "rescore", folder.name)
    assert (same.returncode, "by this very judge" in same.stderr) == (2, True)

    project.variables["BENCH_LLM_JUDGE_KWARGS"] = json.dumps({"model": "harsh"})
    done = project.cli("judge", "rescore", folder.name)
    assert done.returncode == 0, done.stderr
    assert "0 of 8 correct" in done.stdout
    assert len(endpoint.requests) == asked + 8
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (second,) = (project.storage / "scorings" / folder.name).iterdir()
    assert {score["label"] for score in records(second / "scores.jsonl")} == {"incorrect"}
    assert strict((second / "summary.json").read_text())["judging"]["calls"] == 8

    again = project.cli("judge", "rescore", folder.name)
    assert again.returncode == 0
    assert "has scored the run before" in again.stdout
    assert len(endpoint.requests) == asked + 8

    listed = project.cli("judge", "scorings", folder.name).stdout
    assert "(the run's own)" in listed
    assert "harsh" in listed
    changed = project.cli("judge", "changes", folder.name).stdout
    assert "6 labels changed" in changed
    assert "q1: correct → incorrect" in changed
    assert "after: harsh says so" in changed
    back = project.cli("judge", "changes", folder.name, "--before", second.name[:6], "--after", "own").stdout
    assert "q1: incorrect → correct" in back
    unknown = project.cli("judge", "changes", folder.name, "--after", "ffff")
    assert (unknown.returncode, "has no one scoring" in unknown.stderr) == (2, True)


REPLAY = """\
import json, pathlib

LABELS = json.loads(pathlib.Path(__file__).with_name("labels.json").read_text())

def judge(question, golden, answer):
    return {"Yes": "correct", "No": "incorrect", "": None}[LABELS[int(question)]]
"""


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason=f"the published results are not here: {PUBLISHED}")
@pytest.mark.parametrize(
    ("judge", "kappa", "accuracy", "failed"),
    [("BEM", 0.61572, 0.80604, {}), ("gpt-4", 0.69529, 0.84812, {"undecided": 2})],
)
def test_published_labels_of_two_judges_calibrate_as_their_data_says(project, judge, kappa, accuracy, failed):
    def rows(name):
        with (PUBLISHED / f"NQ301_{name}.tsv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    (project.folder / "labels.json").write_text(json.dumps([row["Acceptable?"] for row in rows(judge)]))
    (project.folder / "replay.py").write_text(REPLAY)
    human = {"Yes": "correct", "No": "incorrect"}
    labelled = [
        {"question": str(n), "golden": "g", "answer": row["Model answer"] or "-", "label": human[row["Acceptable?"]]}
        for n, row in enumerate(rows("human"))
    ]
    (project.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labelled))
    benchmark = project.benchmark(quiz(), judge='{type: python, function: "replay:judge"}')
    done = project.cli("judge", "calibrate", "rows.jsonl", "--benchmark", benchmark)
    assert done.returncode == 0, done.stderr
    (kept,) = (project.storage / "calibrations").iterdir()
    found = strict(kept.read_text())
    assert found["kappa"] == pytest.approx(kappa, abs=5e-6)
    assert found["accuracy"] == pytest.approx(accuracy, abs=5e-6)
    assert (found["rows"], found["failed"]) == (1490 - sum(failed.values()), failed)
    assert found["interval"]["low"] < kappa < found["interval"]["high"]


def test_a_run_that_is_not_there_is_a_sentence(project, endpoint):
    for command in ("rescore", "scorings", "changes"):
        done = project.cli("judge", command, "20260101-000000-00000000")
        assert done.returncode == 2
        assert "There is no run" in done.stderr
