"""How small a drop a comparison could have shown."""

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from bench_assets.analysis.intervals import normal_quantile

if TYPE_CHECKING:
    import numpy as np

POWER = 0.8
"""A drop counts as detectable when this share of comparisons would show it."""


def detectable_drop(
    *, n: int, repetitions: int, discordant: int, stderr: float, alpha: float = 0.05, margin: float = 0.0
) -> float | None:
    """Return the smallest true drop that `POWER` of such comparisons would show; None when there is none.

    To show a drop is to have p ≤ `alpha` (two-sided) and an observed drop above `margin`. The drop is taken to come on
    top of what differs anyway, each lost question lost in every repetition: the hardest case to see. Without
    repetitions the power is the exact test's own, with `discordant` of `n` questions differing anyway (and two
    pseudo-questions, one of them discordant); with repetitions it is the normal approximation's, from `stderr`, the
    adjusted standard error of the difference.
    """
    share = (discordant + 1) / (n + 2)

    def shown(drop: float) -> bool:
        if repetitions == 1:
            return exact_power(drop, n=n, share=share, alpha=alpha, margin=margin) >= POWER
        error = math.sqrt(stderr**2 + drop * (1 - drop) / n)
        return drop >= max(normal_quantile(1 - alpha / 2) * error, margin) + normal_quantile(POWER) * error

    low, high = 0.0, 1.0
    if not shown(high):
        return None
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def exact_power(drop: float, *, n: int, share: float, alpha: float = 0.05, margin: float = 0.0) -> float:
    """Return the chance that McNemar's exact test shows a true `drop` on `n` questions.

    A `share` of the questions differs anyway, in both directions alike; the drop's losses come on top.
    """
    import numpy as np
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy  # type: ignore[import-untyped]

    gains = min(share / 2, (1 - drop) / 2)
    share = min(1.0, 2 * gains + drop)
    spread = 8 * math.sqrt(n * share * (1 - share)) + 1
    differing = np.arange(max(0, math.floor(n * share - spread)), min(n, math.ceil(n * share + spread)) + 1)
    losses = np.maximum(_fewest_losses(n, alpha)[differing], np.floor((margin * n + differing) / 2).astype(int) + 1)
    found = np.where(losses <= differing, bdtrc(losses - 1, differing, 1 - gains / share), 0.0)
    ways = gammaln(n + 1) - gammaln(differing + 1) - gammaln(n - differing + 1)
    chances = np.exp(ways + xlogy(differing, share) + xlog1py(n - differing, -share))
    return float(np.sum(chances * found))


@lru_cache(maxsize=16)
def _fewest_losses(n: int, alpha: float) -> "np.ndarray":
    """Return, for 0 to `n` differing questions, the fewest losses at which p ≤ `alpha`; more than all where none is."""
    import numpy as np
    from scipy.special import bdtrc

    differing = np.arange(n + 1)
    guess = (differing + normal_quantile(1 - alpha / 2) * np.sqrt(differing)) / 2
    losses: np.ndarray = np.maximum(np.floor(guess).astype(int) - 2, 1)
    while (low := (losses <= differing) & (bdtrc(losses - 1, differing, 0.5) > alpha / 2)).any():
        losses = losses + low
    return losses
