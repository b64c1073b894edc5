"""How small a drop a comparison could have shown."""

import math
from typing import TYPE_CHECKING

from bench_assets.analysis.rates import normal_quantile

if TYPE_CHECKING:
    import numpy as np

POWER = 0.8
"""A drop counts as detectable when this share of comparisons would show it."""


def detectable_drop(
    *, n: int, repetitions: int, discordant: int, stderr: float, alpha: float = 0.05, margin: float = 0.0
) -> float | None:
    """Return the smallest true drop that `POWER` of such comparisons would show; None when there is none.

    To show a drop is to have p ≤ `alpha` (two-sided) and an observed drop above `margin`. Without repetitions the
    exact test's own power is computed, for as many `discordant` questions among `n` as were seen (with two
    pseudo-questions, one of them discordant) or as the drop itself needs. With repetitions it is the normal
    approximation from `stderr`, the adjusted standard error of the difference.
    """
    if repetitions > 1:
        critical = max(normal_quantile(1 - alpha / 2) * stderr, margin)
        drop = critical + normal_quantile(POWER) * stderr
        return drop if drop <= 1 else None
    share = (discordant + 1) / (n + 2)
    low, high = 0.0, 1.0
    if exact_power(high, n=n, share=share, alpha=alpha, margin=margin) < POWER:
        return None
    for _ in range(20):
        middle = (low + high) / 2
        if exact_power(middle, n=n, share=share, alpha=alpha, margin=margin) < POWER:
            low = middle
        else:
            high = middle
    return high


def exact_power(drop: float, *, n: int, share: float, alpha: float = 0.05, margin: float = 0.0) -> float:
    """Return the chance that McNemar's exact test shows a true `drop` on `n` questions.

    `share` of the questions come out differently in the two runs, or as many as `drop` needs.
    """
    import numpy as np
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy  # type: ignore[import-untyped]

    share = min(1.0, max(share, drop))
    spread = 8 * math.sqrt(n * share * (1 - share)) + 1
    differing = np.arange(max(0, math.floor(n * share - spread)), min(n, math.ceil(n * share + spread)) + 1)
    losses = np.maximum(_fewest_losses(differing, alpha=alpha), np.floor((margin * n + differing) / 2).astype(int) + 1)
    found = np.where(losses <= differing, bdtrc(losses - 1, differing, (share + drop) / (2 * share)), 0.0)
    ways = gammaln(n + 1) - gammaln(differing + 1) - gammaln(n - differing + 1)
    chances = np.exp(ways + xlogy(differing, share) + xlog1py(n - differing, -share))
    return float(np.sum(chances * found))


def _fewest_losses(differing: "np.ndarray", *, alpha: float) -> "np.ndarray":
    """Return the fewest losses among so many differing questions at which p ≤ `alpha`; more than all where none is."""
    import numpy as np
    from scipy.special import bdtrc

    guess = (differing + normal_quantile(1 - alpha / 2) * np.sqrt(differing)) / 2
    losses: np.ndarray = np.maximum(np.floor(guess).astype(int) - 2, 1)
    while (low := (losses <= differing) & (bdtrc(losses - 1, differing, 0.5) > alpha / 2)).any():
        losses = losses + low
    return losses
