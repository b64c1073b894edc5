import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_assets.analysis.intervals import wilson
from bench_assets.analysis.metrics import quantile, standard_error, summarize
from bench_assets.contracts.outcome import OUTCOMES
from bench_assets.errors import InvalidInput
from tests.analysis.making import pair, pairs


def summary(*outcomes, partial=False):
    return summarize(pairs(*outcomes), questions=len(outcomes), repetitions=1, partial=partial)


def test_an_error_stays_in_the_denominator():
    found = summary(*["correct"] * 80, *["incorrect"] * 10, *["agent_error"] * 10)
    assert (found.total, found.attempted, found.correct, found.errors) == (100, 90, 80, 10)
    assert found.accuracy == found.recall == found.avg_score == 0.8
    assert found.precision == 0.8888888888888888
    assert (found.coverage, found.accuracy_low, found.accuracy_high) == (0.9, 0.8, 0.9)
    assert found.judged


def test_errors_do_not_make_two_small_runs_look_different():
    one = summary(*["correct"] * 2, *["incorrect"] * 6)
    other = summary(*["correct"] * 2, *["incorrect"] * 4, *["agent_error"] * 2)
    assert one.accuracy == other.accuracy == 0.25
    assert (one.errors, other.errors) == (0, 2)
    assert (one.precision, other.precision) == (0.25, 1 / 3)


def test_a_timed_out_repetition_counts_as_wrong():
    rows = [
        pair("correct", id="q1", repetition=1),
        *(pair("agent_error", id="q1", repetition=n, kind="timeout") for n in (2, 3)),
        *(pair("agent_error", id="q2", repetition=n, kind="timeout") for n in (1, 2, 3)),
    ]
    found = summarize(rows, questions=2, repetitions=3, partial=False)
    assert found.accuracy == pytest.approx(1 / 6)
    assert found.errors == 5
    assert found.error_kinds == {"timeout": 5}
    assert found.stderr == pytest.approx(statistics.stdev([1 / 3, 0.0]) / 2**0.5)


def test_rates_are_over_all_and_not_over_the_attempted():
    found = summary("correct", "not_attempted", "not_attempted", "incorrect")
    assert (found.total, found.attempted, found.correct) == (4, 2, 1)
    assert (found.accuracy, found.avg_score, found.precision, found.recall) == (0.25, 0.25, 0.5, 0.25)
    assert found.f1 == pytest.approx(1 / 3, abs=1e-16)


def test_repetitions_of_a_question_are_one_observation():
    rows = [pair("correct", id="q1", repetition=n) for n in range(1, 5)]
    rows += [pair("incorrect", id="q2", repetition=n) for n in range(1, 5)]
    found = summarize(rows, questions=2, repetitions=4, partial=False)
    assert (found.accuracy, found.stderr) == (0.5, pytest.approx(0.5))
    assert found.interval == wilson(0.5, 2)
    assert (found.questions, found.executions, found.repetitions) == (2, 8, 4)


def test_a_failed_judgement_leaves_the_run_unjudged_and_is_never_incorrect():
    found = summary("correct", "judge_error", "correct")
    assert (found.total, found.correct, found.attempted, found.judged) == (3, 2, 2, False)
    assert found.outcomes["judge_error"] == 1
    assert found.outcomes["incorrect"] == 0
    assert found.error_kinds == {"unknown_label": 1}
    assert found.accuracy == found.avg_score == pytest.approx(2 / 3)
    assert found.accuracy_high == 1.0


def test_what_was_planned_and_never_came_is_missing():
    found = summarize(pairs("correct", "incorrect"), questions=4, repetitions=1, partial=False)
    assert found.outcomes == dict.fromkeys(OUTCOMES, 0) | {"correct": 1, "incorrect": 1, "missing": 2}
    assert (found.total, found.accuracy, found.errors, found.partial, found.judged) == (4, 0.25, 2, True, False)
    assert found.stderr == pytest.approx(statistics.stdev([1, 0, 0, 0]) / 2)


def test_nothing_planned_gives_none_and_never_nan():
    found = summarize([], questions=0, repetitions=1, partial=False)
    rates = (found.accuracy, found.avg_score, found.precision, found.recall, found.f1, found.coverage, found.stderr)
    assert set(rates) == {None}
    assert (found.interval, found.latency_ms, found.total) == (None, None, 0)


def test_nothing_attempted_has_no_precision_and_no_f1():
    found = summary("not_attempted", "agent_error")
    assert (found.accuracy, found.precision, found.f1) == (0.0, None, None)
    assert summary("incorrect", "incorrect").f1 == 0.0


def test_one_question_has_no_standard_error():
    found = summary("correct")
    assert (found.accuracy, found.stderr, found.interval) == (1.0, None, wilson(1.0, 1))


def test_a_part_of_the_dataset_is_partial():
    assert summary("correct", partial=True).partial
    assert not summary("correct").partial


def test_latency_is_that_of_the_answered():
    rows = [pair("correct", id=f"q{n}", duration_ms=n) for n in range(1, 101)]
    rows.append(pair("agent_error", id="late", duration_ms=10**6))
    found = summarize(rows, questions=101, repetitions=1, partial=False)
    assert found.latency_ms.model_dump() == pytest.approx({"p50": 50.5, "p90": 90.1, "p99": 99.01, "max": 100.0})
    assert quantile([7], 0.99) == 7
    assert summary("agent_error").latency_ms is None


def test_what_belongs_to_another_plan_is_refused():
    with pytest.raises(InvalidInput, match="another plan"):
        summarize(pairs("correct", "correct"), questions=1, repetitions=1, partial=False)
    with pytest.raises(InvalidInput, match="another plan"):
        summarize(pairs("correct", "correct"), questions=1, repetitions=2, partial=False)
    with pytest.raises(InvalidInput, match="twice"):
        summarize([pair("correct"), pair("correct")], questions=2, repetitions=1, partial=False)
    with pytest.raises(InvalidInput, match="stands beside"):
        summarize([(pair("correct")[0], pair("correct", id="q2")[1])], questions=2, repetitions=1, partial=False)


def test_a_summary_is_made_in_one_pass():
    found = summarize((row for row in pairs("correct", "incorrect")), questions=2, repetitions=1, partial=False)
    assert found.accuracy == 0.5


@settings(deadline=None)
@given(
    rows=st.lists(st.sampled_from(OUTCOMES[:5]), max_size=30), missing=st.integers(0, 5), repetitions=st.integers(1, 3)
)
def test_the_figures_of_any_run_fit_together(rows, missing, repetitions):
    questions = -(-len(rows) // repetitions) + missing
    made = [pair(one, id=f"q{n // repetitions}", repetition=n % repetitions + 1) for n, one in enumerate(rows)]
    found = summarize(made, questions=questions, repetitions=repetitions, partial=False)
    assert sum(found.outcomes.values()) == found.total == questions * repetitions
    assert sum(found.error_kinds.values()) + found.outcomes["missing"] == found.errors
    if found.accuracy is not None and found.accuracy_high is not None:
        assert found.accuracy == found.accuracy_low <= found.accuracy_high <= 1
        assert found.interval is None or found.interval.low <= found.accuracy <= found.interval.high
    assert found.to_json()["total"] == found.total


def test_without_repetitions_the_standard_error_is_the_usual_one():
    means = [1.0, 0.0, 1.0, 1.0]
    assert standard_error(means) == pytest.approx(statistics.stdev(means) / 2)
