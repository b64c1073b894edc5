"""The questions of a report as the page's own data."""

import json
from collections.abc import Iterable, Sequence

from bench_assets.analysis.groups import group_fields, group_value
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.transitions import KINDS, shown, side_of
from bench_assets.contracts.base import JsonValue, clean_json
from bench_assets.contracts.comparison import Comparison, Shown

CHANGES_FIRST = ("broken", "to_error", "flaky", "fixed", "from_error", "still_wrong", "still_error", "still_right")
ALONE = ("wrong", "error", "flaky", "right")
"""The kinds of a run without a baseline."""


def comparison_data(comparison: Comparison) -> JsonValue:
    """Return the page's data for two runs: sides, kinds in the order to show them, meta fields, questions."""
    assert set(CHANGES_FIRST) == set(KINDS)
    fields = list(dict.fromkeys(group.field for group in comparison.groups))
    return {
        "sides": [comparison.baseline.candidate, comparison.candidate.candidate],
        "kinds": CHANGES_FIRST,
        "fields": fields,
        "questions": [
            {
                "id": one.id,
                "question": one.question,
                "golden": _goldens(one.golden),
                "kind": one.kind,
                "meta": {name: group_value(one.meta.get(name)) for name in fields},
                "sides": [_side(one.baseline), _side(one.candidate)],
            }
            for one in comparison.transitions
        ],
    }


def run_data(run: ObservedRun) -> JsonValue:
    """Return the page's data for a run by itself."""
    fields = group_fields(run.meta)
    return {
        "sides": [run.run.candidate],
        "kinds": ALONE,
        "fields": fields,
        "questions": [
            {
                "id": id_,
                "question": run.asked[id_].question,
                "golden": run.asked[id_].goldens,
                "kind": side_of([one.outcome for one in executions]),
                "meta": {name: group_value(run.meta.get(id_, {}).get(name)) for name in fields},
                "sides": [_side(shown(executions))],
            }
            for id_, executions in run.executions.items()
        ],
    }


def script_json(value: JsonValue) -> str:
    """Return JSON that may stand in a `<script>`: nothing in it can end the element or open a comment."""
    text = json.dumps(clean_json(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _goldens(golden: str | list[str]) -> Sequence[str]:
    return [golden] if isinstance(golden, str) else golden


def _side(side: Iterable[Shown]) -> list[JsonValue]:
    return [[one.outcome, one.answer, one.reason, one.error, one.duration_ms] for one in side]
