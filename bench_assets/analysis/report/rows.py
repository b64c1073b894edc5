"""The questions of a report as the page's own data, a piece at a time."""

import json
from collections.abc import Iterable, Iterator, Sequence

from bench_assets.analysis.groups import group_fields, group_value
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.transitions import (
    CHANGES_FIRST,
    KINDS,
    MOST_LISTED,
    SIDES,
    Side,
    listed,
    shown,
    side_of,
    sides_of,
)
from bench_assets.contracts.base import JsonValue, clean_json
from bench_assets.contracts.comparison import Comparison, Shown

ALONE: tuple[Side, ...] = ("wrong", "error", "flaky", "right")
"""The kinds of a run without a baseline, in the order to show them."""


def comparison_data(comparison: Comparison) -> Iterator[str]:
    """Yield the page's data for two runs: sides, kinds in the order to show them, meta fields, questions."""
    assert set(CHANGES_FIRST) == set(KINDS)
    fields = list(dict.fromkeys(group.field for group in comparison.groups))
    sides = [comparison.baseline.candidate, comparison.candidate.candidate]
    questions = (
        {
            "id": one.id,
            "question": one.question,
            "golden": _goldens(one.golden),
            "kind": one.kind,
            "meta": {name: group_value(one.meta.get(name)) for name in fields},
            "sides": [_side(one.baseline), _side(one.candidate)],
        }
        for one in comparison.transitions
    )
    yield from _pieces({"sides": sides, "kinds": CHANGES_FIRST, "fields": fields}, questions)


def run_data(run: ObservedRun, *, most: int = MOST_LISTED) -> Iterator[str]:
    """Yield the page's data for a run by itself, with at most so many questions: of more, those not right come first.

    Reads the run's files again, and holds none of its texts.
    """
    fields = group_fields(run.meta)
    wanted = frozenset(listed(sides_of(run.columns.codes()), order=[SIDES.index(one) for one in ALONE], most=most))
    questions = (
        {
            "id": one.id,
            "question": one.question,
            "golden": one.goldens,
            "kind": side_of([execution.outcome for execution in one.executions]),
            "meta": {name: group_value(run.meta.get(one.id, {}).get(name)) for name in fields},
            "sides": [_side(shown(one.executions))],
        }
        for _, one in run.details(wanted)
    )
    yield from _pieces({"sides": [run.run.candidate], "kinds": ALONE, "fields": fields}, questions)


def _pieces(head: dict[str, JsonValue], questions: Iterable[JsonValue]) -> Iterator[str]:
    yield script_json(head)[:-1] + ',"questions":['
    for place, question in enumerate(questions):
        yield ("," if place else "") + script_json(question)
    yield "]}"


def script_json(value: JsonValue) -> str:
    """Return JSON that may stand in a `<script>`: nothing in it can end the element or open a comment."""
    text = json.dumps(clean_json(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _goldens(golden: str | list[str]) -> Sequence[str]:
    return [golden] if isinstance(golden, str) else golden


def _side(side: Iterable[Shown]) -> list[JsonValue]:
    return [[one.outcome, one.answer, one.reason, one.error, one.duration_ms] for one in side]
