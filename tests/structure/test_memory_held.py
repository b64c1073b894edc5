"""What is held of a question. Counts bytes that Python allocated: the whole is `make bench ITEM=memory`'s."""

import gc
import itertools
import json
import tracemalloc

import numpy as np
import pytest

from bench_assets.analysis.comparison import compare
from bench_assets.analysis.metrics import summarize
from bench_assets.analysis.report.rows import run_data
from bench_assets.analysis.runs import observe_run
from bench_assets.catalog.benchmarks import load_benchmark
from bench_assets.catalog.dataset import check_dataset
from bench_assets.contracts.answer import Attempt, SettledExecution
from bench_assets.contracts.plan import Selection
from bench_assets.execution.journal import open_journal, open_settled
from bench_assets.text_numbers import TextNumbers
from tests.analysis.making import pair
from tests.analysis.observing import run_record
from tests.execution.conftest import bench, execution

__all__ = ["bench"]

assert np  # imported by now, as its modules are no part of what a question takes
FEW, MANY = 2_000, 10_000
ANSWER = "x" * 1024


def bytes_a_question(work):
    """Return how many bytes more each further question takes at the worst moment of `work(count)`."""
    peaks = []
    for count in (FEW, MANY):
        gc.collect()
        tracemalloc.start()
        try:
            held = work(count)
            peaks.append(tracemalloc.get_traced_memory()[1])
            del held
        finally:
            tracemalloc.stop()
    return (peaks[1] - peaks[0]) / (MANY - FEW)


class Stored:
    """The records of a run as a file gives them: made anew each time, and held by nobody."""

    def __init__(self, count, place):
        self.count = count
        self.place = place

    def __iter__(self):
        for number in range(self.count):
            record = pair("correct" if number % 3 else "incorrect", id=f"q{number}")[self.place]
            yield record.model_copy(update={"answer": ANSWER} if self.place == 0 else {})


def settled(number):
    attempt = Attempt(number=1, cause="answered", duration_ms=1, worker="000-1", started_at="2026-01-02T03:04:05+00:00")
    fields = {"answer": ANSWER, "duration_ms": 1, "attempt": 1, "started_at": attempt.started_at}
    return SettledExecution(execution_id=f"{number:032x}", id=f"q{number}", repetition=1, attempts=[attempt], **fields)


def observed(count, *, pairing):
    summary = summarize([], questions=count, repetitions=1, partial=False)
    run = run_record(selection=Selection(questions=count))
    return observe_run(run, summary, answers=Stored(count, 0), scores=Stored(count, 1), pairing=pairing)


def test_a_numbered_text_takes_a_fraction_of_what_a_dict_takes():
    def work(count):
        numbers = TextNumbers()
        for number in range(count):
            numbers.add(f"question {number}")
        return numbers

    assert bytes_a_question(work) < 48


def test_a_dataset_is_checked_without_being_held(tmp_path):
    def work(count):
        folder = tmp_path / str(count)
        folder.mkdir()
        (folder / "benchmark.yaml").write_text('{name: b, version: "1", judge: {type: exact_match}}', encoding="utf-8")
        with (folder / "dataset.jsonl").open("w", encoding="utf-8") as file:
            for number in range(count):
                file.write(json.dumps({"id": f"q{number}", "question": ANSWER, "golden": ANSWER}) + "\n")
        return check_dataset(load_benchmark(folder))

    assert bytes_a_question(work) < 64


def test_a_journal_holds_no_answers(tmp_path):
    def work(count):
        with open_journal(tmp_path / str(count), run_id="run", shard="000", flush_every=50) as journal:
            for number in range(count):
                journal.append(settled(number))
                if number % 50 == 0:  # what waits for the disk is no part of it
                    journal.flush()
        del journal
        with open_settled(tmp_path / str(count), run_id="run", shard="000") as records:
            assert len(records.settled()) == count
        return records

    assert bytes_a_question(work) < 112


@pytest.mark.timeout(120)
def test_a_shards_questions_are_read_as_they_are_asked(bench):
    bench.adapter("class Agent:\n    def run(self, question): return question")
    most = 0

    def questions(journal):
        nonlocal most
        for number in range(600):
            most = max(most, number - len(journal.settled()))
            yield execution(f"q{number}")

    with bench.engine(parallelism=2) as engine, bench.journal() as journal:
        result = engine.run(questions(journal), journal=journal, shard="000")
    assert result.answered == 600
    assert most < 100


def test_figures_are_made_of_a_few_bytes_a_question():
    def work(count):
        return summarize(
            zip(Stored(count, 0), Stored(count, 1), strict=True), questions=count, repetitions=1, partial=False
        )

    assert bytes_a_question(work) < 96


def test_a_run_that_is_held_against_nothing_is_not_held_either():
    def work(count):
        run = observed(count, pairing=False)
        for _ in run_data(run, most=50):
            pass
        return run

    assert bytes_a_question(work) < 96


def test_two_runs_are_compared_in_columns():
    def work(count):
        return compare(observed(count, pairing=True), observed(count, pairing=True), most_listed=50)

    assert bytes_a_question(work) < 400


def test_a_report_is_written_a_question_at_a_time():
    pieces = run_data(observed(500, pairing=False), most=500)
    sizes = [len(piece) for piece in itertools.islice(pieces, 400)]
    assert len(sizes) == 400
    assert max(sizes) < 4_000
