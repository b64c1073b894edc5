"""The comparison by the dataset's meta fields: is it one topic that got worse?"""

from collections.abc import Mapping, Sequence

from bench_assets.analysis.paired import adjusted_interval, paired_error
from bench_assets.analysis.transitions import count_kinds
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.comparison import Group, Transition

MOST_VALUES = 30
"""A field with more values than this is no group, but a property of each question: a source, a URL."""

Meta = Mapping[str, Mapping[str, JsonValue]]


def group_fields(meta: Meta) -> list[str]:
    """Return the meta fields that make groups: 2 to 30 distinct single values, at least two questions each on average.

    `meta` maps question ids to their meta.
    """
    values: dict[str, list[str]] = {}
    for fields in meta.values():
        for name, value in fields.items():
            if (text := group_value(value)) is not None:
                values.setdefault(name, []).append(text)
    return [name for name, found in values.items() if 2 <= len(set(found)) <= min(MOST_VALUES, len(found) / 2)]


def group_value(value: JsonValue) -> str | None:
    """Return the text of a single value; None for lists, objects and nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def groups(transitions: Sequence[Transition], *, meta: Meta, fields: Sequence[str]) -> list[Group]:
    """Return a group for each value of each of `fields`; the largest loss first within a field.

    A value that no common question has comes last, without rates.
    """
    found: list[Group] = []
    for name in fields:
        members: dict[str, list[Transition]] = {
            text: [] for one in meta.values() if (text := group_value(one.get(name))) is not None
        }
        for item in transitions:
            if (text := group_value(item.meta.get(name))) is not None:
                members.setdefault(text, []).append(item)
        made = [_group(name, value, items) for value, items in members.items()]
        found += sorted(made, key=lambda group: (group.delta is None, group.delta or 0.0, group.value))
    return found


def _group(field: str, value: str, items: Sequence[Transition]) -> Group:
    if not items:
        return Group(
            field=field,
            value=value,
            n=0,
            baseline_accuracy=None,
            candidate_accuracy=None,
            delta=None,
            interval=None,
            counts=count_kinds(items),
        )
    n, repetitions = len(items), len(items[0].candidate)
    before = [sum(one.outcome == "correct" for one in item.baseline) for item in items]
    after = [sum(one.outcome == "correct" for one in item.candidate) for item in items]
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
        counts=count_kinds(items),
    )
