"""Two runs on the same questions: how large the difference is, and whether chance explains it.

A question is one observation, however often it was asked. Its difference is a whole number of `steps`: the candidate's
correct repetitions less the baseline's. All functions take the steps of the common questions and the number of
repetitions of each.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench_assets.analysis.detectable import detectable_drop
from bench_assets.analysis.intervals import normal_quantile
from bench_assets.contracts.comparison import Effect
from bench_assets.contracts.run import Interval

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 10_000
SEED = 20_240_229
"""Of the bootstrap, fixed: the same two runs give the same interval."""


def paired_effect(
    baseline: Sequence[int], candidate: Sequence[int], *, repetitions: int, resamples: int = RESAMPLES
) -> Effect:
    """Return the effect from each common question's number of correct repetitions, in the same order.

    `resamples` is how many times the bootstrap draws.

    Raises ValueError without a question, or for lists of different lengths.
    """
    steps = [after - before for before, after in zip(baseline, candidate, strict=True)]
    n = len(steps)
    if n == 0:
        raise ValueError("an effect needs at least one common question")
    delta = math.fsum(steps) / (n * repetitions)
    error = paired_error(steps, repetitions=repetitions)
    return Effect(
        n=n,
        repetitions=repetitions,
        baseline_accuracy=sum(baseline) / (n * repetitions),
        candidate_accuracy=sum(candidate) / (n * repetitions),
        delta=delta,
        stderr=error,
        interval=adjusted_interval(n, delta, error),
        bootstrap=bootstrap_interval(steps, repetitions=repetitions, resamples=resamples),
        gained=sum(step > 0 for step in steps),
        lost=sum(step < 0 for step in steps),
        p_value=exact_p(steps),
        test="exact McNemar" if repetitions == 1 else "exact sign-flip",
        detectable=detectable_drop(
            n=n,
            repetitions=repetitions,
            discordant=sum(step != 0 for step in steps),
            stderr=adjusted(n, delta, error)[1],
        ),
    )


def paired_error(steps: Sequence[int], *, repetitions: int) -> float | None:
    """Return the standard error of the mean difference, clustered by question; None below 2 questions."""
    n = len(steps)
    if n < 2:
        return None
    mean = math.fsum(steps) / n
    return math.sqrt(math.fsum((step - mean) ** 2 for step in steps) / (n - 1) / n) / repetitions


def adjusted(n: int, delta: float, stderr: float | None) -> tuple[float, float]:
    """Return the middle and the standard error of `delta` after two pseudo-questions were added.

    Agresti and Min's interval for matched pairs (2005) adds half a question to each of the four cells of the paired
    table: two questions more, one of them spread over +1 and -1. That carries over to means of repetitions unchanged,
    and keeps an honest width where few questions, or none, came out differently.
    """
    squares = n * delta**2 + (0.0 if stderr is None else stderr**2 * n * (n - 1))
    middle = n * delta / (n + 2)
    variance = (squares + 1) / (n + 2) - middle**2
    return middle, math.sqrt(variance / (n + 2))


def adjusted_interval(n: int, delta: float, stderr: float | None, *, alpha: float = 0.05) -> Interval:
    """Return the interval of `delta` at 1 - `alpha` from `adjusted`, cut to [-1, 1]."""
    middle, error = adjusted(n, delta, stderr)
    half = normal_quantile(1 - alpha / 2) * error
    return Interval(low=max(-1.0, middle - half), high=min(1.0, middle + half))


def bootstrap_interval(
    steps: Sequence[int], *, repetitions: int, alpha: float = 0.05, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Return the percentile interval of the mean difference over resampled questions.

    A question is drawn with all its repetitions in both runs. As only the mean counts, drawing n questions is drawing
    how often each distinct difference comes up: one multinomial draw a resample.
    """
    import numpy as np

    values, counts = np.unique(np.asarray(steps), return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(steps), counts / len(steps), size=resamples)
    means = drawn @ values / (len(steps) * repetitions)
    low, high = np.quantile(means, [alpha / 2, 1 - alpha / 2])
    return Interval(low=float(low), high=float(high))


def exact_p(steps: Sequence[int]) -> float:
    """Return the exact two-sided p-value of no difference.

    Where nothing differs between the runs, each question's difference could as well have the other sign. The sum over
    all 2ⁿ ways to choose the signs is computed exactly; without repetitions that is McNemar's exact test. Values below
    1e-12 are given as 1e-12 where there are repetitions, as the sum is made with fast Fourier transforms.
    """
    from scipy.special import bdtr  # type: ignore[import-untyped]

    sizes = Counter(abs(step) for step in steps if step)
    if len(sizes) <= 1:
        total = sum(sizes.values())
        fewer = min(sum(step > 0 for step in steps), sum(step < 0 for step in steps))
        return min(1.0, 2 * float(bdtr(fewer, total, 0.5))) if total else 1.0
    sums = _sign_flip_distribution(sizes)
    reach = len(sums) // 2
    observed = abs(sum(steps))
    if observed == 0:
        return 1.0
    return min(1.0, max(1e-12, 2 * float(sums[reach + observed :].sum())))


def _sign_flip_distribution(sizes: Counter[int]) -> "np.ndarray":
    """Return the distribution of the sum; its middle element is the sum 0."""
    import numpy as np
    from scipy.special import gammaln

    reach = sum(size * count for size, count in sizes.items())
    points = 2 * reach + 1
    product = np.ones(points // 2 + 1, dtype=complex)
    for size, count in sizes.items():
        flips = np.arange(count + 1)
        chances = np.exp(gammaln(count + 1) - gammaln(flips + 1) - gammaln(count - flips + 1) - count * np.log(2.0))
        one = np.zeros(points)
        one[: 2 * size * count + 1 : 2 * size] = chances
        product *= np.fft.rfft(one)
    return np.clip(np.fft.irfft(product, points), 0.0, None)
