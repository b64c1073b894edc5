"""The gate and the intervals held against made-up truth, a few thousand pairs of runs each. Seeded."""

import math
import statistics
from collections import Counter
from functools import cache

import numpy as np
import pytest

from bench_assets.analysis.drop import detectable_by_gate, drop_status
from bench_assets.analysis.intervals import effective_size, wilson
from bench_assets.analysis.metrics import standard_error
from bench_assets.analysis.paired import paired_effect
from bench_assets.contracts.comparison import Effect
from bench_assets.contracts.gate_policy import GatePolicy

PAIRS = 2_000
MONTE_CARLO = 3 * math.sqrt(0.8 * 0.2 / PAIRS)
"""Three standard errors of a rate of 80 % over so many pairs."""


@cache
def effect_of(steps: tuple[tuple[int, int], ...], repetitions: int, resamples: int) -> Effect:
    """The effect of so many questions with each difference; the same counts have the same effect."""
    listed = [step for step, count in steps for _ in range(count)]
    before, after = [max(0, -step) for step in listed], [max(0, step) for step in listed]
    return paired_effect(before, after, repetitions=repetitions, resamples=resamples)


@cache
def made(*, n: int, repetitions: int, drop: float, resamples: int = 1) -> list[Effect]:
    """Effects of made-up pairs of runs. Each question has its own chance to be right, which `drop` lowers."""
    rng = np.random.default_rng(int(n + 1000 * drop))
    chance = rng.choice([0.15, 0.7, 0.95], p=[0.2, 0.3, 0.5], size=(PAIRS, n))
    steps = rng.binomial(repetitions, chance - drop) - rng.binomial(repetitions, chance)
    return [effect_of(tuple(sorted(Counter(row).items())), repetitions, resamples) for row in steps.tolist()]


def rate(effects: list[Effect], policy: GatePolicy) -> float:
    """Share of pairs that the gate calls NO-GO."""
    return sum(drop_status(effect, policy)[0] == "fail" for effect in effects) / len(effects)


SIZES = [(60, 1), (250, 1), (250, 3)]


@pytest.mark.parametrize(("n", "repetitions"), SIZES)
def test_without_a_true_difference_no_go_is_as_rare_as_alpha_says(n, repetitions):
    effects = made(n=n, repetitions=repetitions, drop=0.0)
    for policy in (GatePolicy(), GatePolicy(max_drop=0.0), GatePolicy(max_drop=0.0, alpha=0.2)):
        assert rate(effects, policy) <= policy.alpha + 3 * math.sqrt(policy.alpha / PAIRS)


@pytest.mark.parametrize(("n", "repetitions"), SIZES[1:])
@pytest.mark.parametrize("policy", [GatePolicy(max_drop=0.0), GatePolicy(max_drop=0.05)])
def test_a_true_drop_of_the_stated_size_is_found_in_four_of_five_pairs(n, repetitions, policy):
    without = made(n=n, repetitions=repetitions, drop=0.0)
    stated = statistics.median(detectable_by_gate(effect, policy) for effect in without[:100])
    assert stated < 0.11
    found = rate(made(n=n, repetitions=repetitions, drop=stated), policy)
    assert found >= 0.8 - MONTE_CARLO


@pytest.mark.parametrize(("n", "repetitions"), SIZES)
@pytest.mark.parametrize("drop", [0.0, 0.1])
def test_the_intervals_of_the_difference_cover_it_in_95_of_100_pairs(n, repetitions, drop):
    effects = made(n=n, repetitions=repetitions, drop=drop, resamples=500)
    for name in ("interval", "bootstrap"):
        covered = [getattr(one, name).low <= -drop <= getattr(one, name).high for one in effects]
        assert 0.93 <= statistics.mean(covered) <= 0.97, name


@pytest.mark.parametrize(("n", "repetitions"), SIZES)
def test_the_interval_of_a_run_covers_its_accuracy_in_95_of_100_runs(n, repetitions):
    rng = np.random.default_rng(n)
    chance = rng.choice([0.15, 0.7, 0.95], p=[0.2, 0.3, 0.5], size=(PAIRS, n))
    means = rng.binomial(repetitions, chance) / repetitions
    true = 0.2 * 0.15 + 0.3 * 0.7 + 0.5 * 0.95
    covered = 0
    for row in means.tolist():
        mean, stderr = statistics.fmean(row), standard_error(row)
        size = effective_size(mean, stderr=stderr, questions=n, repetitions=repetitions)
        found = wilson(mean, size)
        covered += found.low <= true <= found.high
    assert 0.93 <= covered / PAIRS <= 0.97
