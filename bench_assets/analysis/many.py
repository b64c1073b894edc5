"""Many candidates against one baseline: the more are tried, the likelier one looks different by chance."""

from collections.abc import Mapping


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return Holm's corrected p-values, by the same keys.

    Held against `alpha`, they keep the chance of even one false finding among all of them at `alpha`.
    """
    corrected: dict[str, float] = {}
    highest = 0.0
    for rank, (key, p_value) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, p_value * (len(p_values) - rank)))
        corrected[key] = highest
    return {key: corrected[key] for key in p_values}
