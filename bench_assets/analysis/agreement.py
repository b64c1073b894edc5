"""How far judges agree: with people, with each other, with themselves. Pure."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Z95 = 1.959963984540054


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of two raters."""

    value: float
    stderr: float
    """Asymptotic, of Fleiss, Cohen and Everitt (1969)."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, cut to [-1, 1]."""
        return max(-1.0, self.value - Z95 * self.stderr), min(1.0, self.value + Z95 * self.stderr)


def cohens_kappa(pairs: Mapping[Any, int]) -> Kappa | None:
    """Return Cohen's kappa from the count of each (one rater's label, the other's).

    None when there are no pairs, or when both raters used one and the same label only: then chance explains everything.
    """
    total = sum(pairs.values())
    labels = {label for pair in pairs for label in pair}
    if not total:
        return None
    share = {pair: count / total for pair, count in pairs.items()}
    first = {label: math.fsum(p for (a, _), p in share.items() if a == label) for label in labels}
    second = {label: math.fsum(p for (_, b), p in share.items() if b == label) for label in labels}
    observed = math.fsum(share.get((label, label), 0.0) for label in labels)
    expected = math.fsum(first[label] * second[label] for label in labels)
    if math.isclose(expected, 1.0):
        return None
    kappa = (observed - expected) / (1 - expected)
    same = math.fsum(
        share.get((label, label), 0.0) * (1 - (first[label] + second[label]) * (1 - kappa)) ** 2 for label in labels
    )
    other = (1 - kappa) ** 2 * math.fsum(p * (second[a] + first[b]) ** 2 for (a, b), p in share.items() if a != b)
    variance = (same + other - (kappa - expected * (1 - kappa)) ** 2) / (total * (1 - expected) ** 2)
    return Kappa(kappa, math.sqrt(max(0.0, variance)))


def fleiss_kappa(units: Iterable[Mapping[Any, int]]) -> float | None:
    """Return Fleiss' kappa from each unit's count of votes by label; every unit needs the same number of votes.

    None when there are no units, fewer than two votes each, a varying number of them, or one label only.
    """
    totals: Counter[Hashable] = Counter()
    sizes: set[int] = set()
    count, agreeing = 0, 0
    for unit in units:
        count += 1
        sizes.add(sum(unit.values()))
        totals.update(unit)
        agreeing += sum(n * (n - 1) for n in unit.values())
    if len(sizes) != 1 or (votes := sizes.pop()) < 2:
        return None
    everything = votes * count
    expected = math.fsum((number / everything) ** 2 for number in totals.values())
    if math.isclose(expected, 1.0):
        return None
    return (agreeing / (everything * (votes - 1)) - expected) / (1 - expected)


def krippendorffs_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Return Krippendorff's alpha for nominal labels from each unit's votes; units may have any number of them.

    Units with fewer than two votes say nothing about agreement and are left out. None when no others are left, or when
    they hold one label only.
    """
    totals: Counter[Hashable] = Counter()
    disagreement = 0.0
    for unit in units:
        counts = Counter(unit)
        votes = counts.total()
        if votes < 2:
            continue
        totals.update(counts)
        disagreement += (votes**2 - sum(n * n for n in counts.values())) / (votes - 1)
    everything = totals.total()
    expected = everything**2 - sum(n * n for n in totals.values())
    if not expected:
        return None
    return 1 - (everything - 1) * disagreement / expected
