import itertools
import math
import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_assets.analysis.intervals import effective_size, wilson
from bench_assets.analysis.rates import pass_all, pass_at, run_figures
from tests.analysis.observing import numbered, observed


@pytest.mark.parametrize(("correct", "n"), [(0, 5), (1, 5), (76, 100), (187, 200), (5, 5)])
def test_the_wilson_interval_is_statsmodels(correct, n):
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(correct, n, alpha=0.05, method="wilson")
    found = wilson(correct / n, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


def test_an_interval_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one observation"):
        wilson(0.5, 0)


def size(means, *, repetitions):
    stderr = statistics.stdev(means) / len(means) ** 0.5
    return effective_size(statistics.mean(means), stderr=stderr, questions=len(means), repetitions=repetitions)


def test_a_question_asked_again_with_the_same_result_is_no_further_observation():
    assert size([1.0, 0.0, 1.0, 0.0], repetitions=4) == pytest.approx(4)
    assert size([1.0, 1.0], repetitions=4) == 2
    assert size([0.5, 0.5, 0.5, 0.75], repetitions=4) == 16


def test_without_repetitions_every_question_is_one_observation():
    assert size([1.0, 0.0, 0.0, 1.0, 1.0], repetitions=1) == pytest.approx(5)


def test_pass_at_k_and_pass_all_k_count_the_subsets_of_repetitions():
    rows = [[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]
    counts = Counter(sum(row) for row in rows)
    for k in range(1, 5):
        subsets = [list(itertools.combinations(row, k)) for row in rows]
        some = statistics.mean(statistics.mean(any(one) for one in of) for of in subsets)
        every = statistics.mean(statistics.mean(all(one) for one in of) for of in subsets)
        assert pass_at(counts, repetitions=4, k=k) == pytest.approx(some)
        assert pass_all(counts, repetitions=4, k=k) == pytest.approx(every)


def test_one_lucky_repetition_out_of_three_is_a_third():
    run = observed(
        {"q1": ["correct", "agent_error", "agent_error"], "q2": ["agent_error", "agent_error", "agent_error"]}
    )
    found = run_figures(run)
    assert found.accuracy == pytest.approx(1 / 6)
    assert (found.errors, found.executions, found.questions, found.repetitions) == (5, 6, 2, 3)
    assert found.pass_at == pytest.approx({1: 1 / 6, 2: 1 / 3, 3: 1 / 2})
    assert found.pass_all == pytest.approx({1: 1 / 6, 2: 0, 3: 0})


def test_repetitions_are_clustered_by_question():
    found = run_figures(observed({"q1": ["correct"] * 4, "q2": ["incorrect"] * 4}))
    assert (found.accuracy, found.stderr) == (0.5, pytest.approx(0.5))
    assert found.wilson == wilson(0.5, 2)


def test_both_rates_are_given_of_all_and_of_those_with_a_verdict():
    found = run_figures(observed(numbered([("correct", 80), ("incorrect", 10), ("agent_error", 10)])))
    assert (found.accuracy, found.of_judged, found.errors) == (0.8, 80 / 90, 10)
    assert (found.coverage, found.agent_error_rate, found.accuracy_high) == (0.9, 0.1, 0.9)


def test_questions_that_never_settled_lower_every_rate():
    found = run_figures(observed({"q1": "correct"}, questions=4))
    assert (found.accuracy, found.pass_at[1], found.questions) == (0.25, 0.25, 4)
    assert found.wilson == wilson(0.25, 4)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_the_figures_of_any_run_lie_in_each_other(counts):
    outcomes = {f"q{n}": ["correct"] * c + ["incorrect"] * (3 - c) for n, c in enumerate(counts)}
    found = run_figures(observed(outcomes))
    assert found.wilson.low <= found.accuracy + 1e-12
    assert found.accuracy <= found.wilson.high + 1e-12
    assert found.pass_all[3] <= found.pass_all[1] + 1e-12
    assert math.isclose(found.pass_at[1], found.accuracy, abs_tol=1e-12)
    assert found.pass_at[1] <= found.pass_at[3] + 1e-12
