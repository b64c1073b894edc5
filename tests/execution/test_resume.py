"""Going on where an earlier process stopped: the journal decides what is asked, by identity and not by position."""

import pytest

from bench_assets.execution.journal import read_settled
from tests.execution.conftest import execution

COUNTING = """
    class Agent:
        def run(self, question, context):
            with open(FOLDER + "/asked", "a") as file: file.write(question + "\\n")
            number = len(open(FOLDER + "/asked").readlines())
            if os.path.exists(FOLDER + "/broken-" + question): raise OSError("504")
            return f"{question} answered as number {number}"
"""


def go_on(bench, planned):
    """Ask what is not answered, the way a repeated materialization does; return all records in the plan's order."""
    with bench.engine() as engine, bench.journal() as journal:
        settled = journal.settled()
        open_ones = []
        for one in planned:
            status = settled.get(one.execution_id)
            if status is None:
                open_ones.append(one)
            elif status.kind == "error":
                earlier = journal.read(one.execution_id).attempts
                open_ones.append(one.model_copy(update={"attempts": earlier}))
        engine.run(open_ones, journal=journal, shard="000")
        return [journal.read(one.execution_id) for one in planned]


@pytest.fixture
def counting(bench):
    bench.adapter(COUNTING)
    return bench


def test_a_reordered_plan_reuses_each_answer_under_its_own_question(counting):
    plan = [execution("A?"), execution("B?")]
    first = go_on(counting, plan)
    again = go_on(counting, plan[::-1])
    assert again == first[::-1]
    assert counting.lines("asked") == ["A?", "B?"]


def test_only_what_failed_or_is_missing_is_asked_again_and_its_attempts_go_on(counting):
    (counting.folder / "broken-q2").touch()
    plan = [execution(f"q{number}") for number in (1, 2, 3, 4)]
    first = go_on(counting, plan[:3])
    assert first[1].error.message == "OSError: 504"
    (counting.folder / "broken-q2").unlink()
    again = go_on(counting, plan)
    assert counting.lines("asked") == ["q1", "q2", "q3", "q2", "q4"]
    assert (again[0], again[2]) == (first[0], first[2])
    assert (again[1].answer, again[1].attempt) == ("q2 answered as number 4", 2)
    assert [attempt.cause for attempt in again[1].attempts] == ["agent_error", "answered"]
    assert go_on(counting, plan) == again
    assert len(counting.lines("asked")) == 5


def test_finished_repetitions_are_kept_and_the_open_one_is_asked(counting):
    plan = [execution("q", repetition=number) for number in (1, 2, 3)]
    go_on(counting, plan[:2])
    records = go_on(counting, plan)
    assert [record.answer for record in records] == [f"q answered as number {number}" for number in (1, 2, 3)]
    assert [record.repetition for record in records] == [1, 2, 3]


def test_a_torn_end_costs_only_the_execution_it_was_about(counting):
    plan = [execution(f"q{number}") for number in (1, 2, 3)]
    go_on(counting, plan[:1])
    file = counting.folder / "checkpoints" / "run" / "000.jsonl"
    with file.open("ab") as torn:
        torn.write(b'{"execution_id":"' + plan[1].execution_id.encode() + b'","answer":"\xd0')
    go_on(counting, plan)
    assert counting.lines("asked") == ["q1", "q2", "q3"]
    found = list(read_settled(counting.folder / "checkpoints", run_id="run", shard="000"))
    assert [record.id for record in found] == ["q1", "q2", "q3"]
