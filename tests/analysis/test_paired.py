import itertools
import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_assets.analysis.detectable import detectable_drop, exact_power
from bench_assets.analysis.many import holm
from bench_assets.analysis.paired import adjusted_interval, bootstrap_interval, exact_p, paired_effect


def effect(*, gained, lost, right=0, wrong=0):
    before = [0] * gained + [1] * lost + [1] * right + [0] * wrong
    after = [1] * gained + [0] * lost + [1] * right + [0] * wrong
    return paired_effect(before, after, repetitions=1)


@pytest.mark.parametrize(("gained", "lost"), [(8, 8), (37, 12), (25, 20), (0, 6), (1, 0), (0, 0), (400, 331)])
def test_the_p_value_is_that_of_statsmodels_mcnemar(gained, lost):
    from statsmodels.stats.contingency_tables import mcnemar

    expected = mcnemar([[50, lost], [gained, 50]], exact=True).pvalue if gained + lost else 1.0
    found = effect(gained=gained, lost=lost, right=50, wrong=50)
    assert found.p_value == pytest.approx(expected, rel=1e-9)
    assert (found.gained, found.lost, found.n) == (gained, lost, gained + lost + 100)
    assert found.test == "exact McNemar"


@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_with_repetitions_the_p_value_counts_every_way_to_flip_the_signs(steps):
    sums = [sum(signs) for signs in itertools.product(*[(step, -step) for step in steps])]
    expected = statistics.mean(abs(one) >= abs(sum(steps)) for one in sums)
    assert exact_p(steps) == pytest.approx(expected)


def test_many_questions_with_repetitions_are_exact_too():
    steps = [3, -2, 1, 0, -1] * 1000
    variance = sum(step**2 for step in steps)
    z = (abs(sum(steps)) - 1) / math.sqrt(variance)
    assert exact_p(steps) == pytest.approx(2 * (1 - statistics.NormalDist().cdf(z)), rel=0.01)


def test_a_one_question_move_on_a_tiny_set_is_no_finding():
    found = effect(gained=0, lost=1, right=3, wrong=1)
    assert (found.delta, found.p_value, found.n) == (pytest.approx(-0.2), 1.0, 5)
    assert found.detectable is None
    assert found.interval.low < 0 < found.interval.high


def test_the_standard_error_is_that_of_the_questions_differences():
    found = paired_effect([3, 0, 1, 2], [2, 2, 1, 0], repetitions=3)
    assert found.stderr == pytest.approx(statistics.stdev([-1 / 3, 2 / 3, 0, -2 / 3]) / 2)
    assert found.delta == pytest.approx(-1 / 12)
    assert (found.baseline_accuracy, found.candidate_accuracy) == (pytest.approx(6 / 12), pytest.approx(5 / 12))
    assert (found.test, found.repetitions) == ("exact sign-flip", 3)


def test_the_interval_is_agresti_and_min_s():
    gained, lost, n = 10, 20, 100
    found = effect(gained=gained, lost=lost, right=40, wrong=30)
    b, c = gained + 0.5, lost + 0.5
    middle = (b - c) / (n + 2)
    half = 1.959963985 * math.sqrt(b + c - (b - c) ** 2 / (n + 2)) / (n + 2)
    assert (found.interval.low, found.interval.high) == pytest.approx((middle - half, middle + half))


def test_two_runs_that_agree_on_five_questions_prove_nothing():
    found = effect(gained=0, lost=0, right=5)
    assert (found.bootstrap.low, found.bootstrap.high) == (0.0, 0.0)
    assert found.interval.low < -0.2 < 0.2 < found.interval.high
    assert adjusted_interval(1, 0.0, None).high > 0.5


def test_the_bootstrap_draws_questions_with_all_their_repetitions():
    steps = [1, -1] * 40 + [2] * 20
    found = bootstrap_interval(steps, repetitions=2)
    error = statistics.stdev(steps) / 2 / math.sqrt(len(steps))
    middle = statistics.mean(steps) / 2
    assert (found.low, found.high) == pytest.approx((middle - 1.96 * error, middle + 1.96 * error), abs=0.01)
    assert found == bootstrap_interval(steps, repetitions=2)


def test_no_question_is_refused():
    with pytest.raises(ValueError, match="at least one common question"):
        paired_effect([], [], repetitions=1)


def test_the_power_is_that_of_the_exact_test():
    from scipy.stats import binom, binomtest

    n, share, drop = 12, 0.3, 0.5
    power = 0.0
    for differing in range(n + 1):
        for losses in range(differing + 1):
            p = binomtest(losses, differing).pvalue if differing else 1.0
            if p <= 0.05 and losses > differing - losses:
                lost = (share / 2 + drop) / (share + drop)
                power += binom.pmf(differing, n, share + drop) * binom.pmf(losses, differing, lost)
    assert exact_power(drop, n=n, share=share) == pytest.approx(power)


def test_the_detectable_drop_has_the_stated_power_and_shrinks_with_more_questions():
    found = [detectable_drop(n=n, repetitions=1, discordant=n // 10, stderr=0.0) for n in (50, 200, 1000, 5000)]
    assert found == sorted(found, reverse=True)
    assert exact_power(found[1], n=200, share=21 / 202) == pytest.approx(0.8, abs=1e-3)
    assert detectable_drop(n=5, repetitions=1, discordant=1, stderr=0.1) is None
    assert detectable_drop(n=8, repetitions=1, discordant=0, stderr=0.1) > 0.8


def test_an_allowed_drop_makes_the_detectable_one_larger():
    without = detectable_drop(n=500, repetitions=1, discordant=50, stderr=0.0)
    allowing = detectable_drop(n=500, repetitions=1, discordant=50, stderr=0.0, margin=0.05)
    assert without < allowing
    for margin in (0.0, 0.05):
        drop = detectable_drop(n=500, repetitions=3, discordant=50, stderr=0.01, margin=margin)
        error = math.sqrt(0.01**2 + drop * (1 - drop) / 500)
        assert drop == pytest.approx(max(1.96 * error, margin) + 0.8416 * error, abs=1e-4)


def test_many_comparisons_are_corrected_as_statsmodels_does():
    from statsmodels.stats.multitest import multipletests

    p_values = {"a": 0.04, "b": 0.001, "c": 0.03, "d": 0.5, "e": 0.03}
    expected = multipletests(list(p_values.values()), method="holm")[1]
    assert list(holm(p_values).values()) == pytest.approx(list(expected))
    assert list(holm(p_values)) == list(p_values)
    assert holm({}) == {}
