"""The comparison by the dataset's meta fields: is it one topic that got worse?"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench_assets.analysis.paired import adjusted_interval, paired_error
from bench_assets.analysis.population import Pairs
from bench_assets.analysis.transitions import count_kinds
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.comparison import Group, TransitionKind

if TYPE_CHECKING:
    import numpy as np

MOST_VALUES = 30
"""A field with more values than this is no group, but a property of each question: a source, a URL."""

Meta = Mapping[str, Mapping[str, JsonValue]]


def group_fields(meta: Meta) -> list[str]:
    """Return the meta fields that make groups: 2 to 30 distinct single values, at least two questions each on average.

    `meta` maps question ids to their meta.
    """
    values: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for fields in meta.values():
        for name, value in fields.items():
            if (text := group_value(value)) is not None:
                counts[name] += 1
                if len(known := values.setdefault(name, set())) <= MOST_VALUES:  # one more than make a group is enough
                    known.add(text)
    return [name for name, known in values.items() if 2 <= len(known) <= min(MOST_VALUES, counts[name] / 2)]


def group_value(value: JsonValue) -> str | None:
    """Return the text of a single value; None for lists, objects and nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def groups(pairs: Pairs, kinds: "np.ndarray", *, meta: Meta, fields: Sequence[str]) -> list[Group]:
    """Return a group for each value of each of `fields`; the largest loss first within a field.

    `kinds` is what `kinds_of` gives. A value that no common question has comes last, without rates.
    """
    found: list[Group] = []
    if not fields:
        return found
    before, after = pairs.right("baseline"), pairs.right("candidate")
    for name in fields:
        members: dict[str, array[int]] = {
            text: array("q") for one in meta.values() if (text := group_value(one.get(name))) is not None
        }
        for place, id_ in enumerate(pairs.ids()):
            if (text := group_value(meta.get(id_, {}).get(name))) is not None:
                members[text].append(place)
        made = [
            _group(
                name,
                value,
                before=[before[place] for place in places],
                after=[after[place] for place in places],
                repetitions=pairs.repetitions,
                counts=count_kinds(kinds[places.tolist()]),
            )
            for value, places in members.items()
        ]
        found += sorted(made, key=lambda group: (group.delta is None, group.delta or 0.0, group.value))
    return found


def _group(
    field: str,
    value: str,
    *,
    before: Sequence[int],
    after: Sequence[int],
    repetitions: int,
    counts: dict[TransitionKind, int],
) -> Group:
    n = len(after)
    if not n:
        return Group(
            field=field,
            value=value,
            n=0,
            baseline_accuracy=None,
            candidate_accuracy=None,
            delta=None,
            interval=None,
            counts=counts,
        )
    steps = [late - early for early, late in zip(before, after, strict=True)]
    delta = sum(steps) / (n * repetitions)
    return Group(
        field=field,
        value=value,
        n=n,
        baseline_accuracy=sum(before) / (n * repetitions),
        candidate_accuracy=sum(after) / (n * repetitions),
        delta=delta,
        interval=adjusted_interval(n, delta, paired_error(steps, repetitions=repetitions)),
        counts=counts,
    )
