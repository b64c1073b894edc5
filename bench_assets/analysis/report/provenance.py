"""Where the runs come from, and what differs in it."""

import json
from collections.abc import Iterator, Mapping, Sequence

from bench_assets.analysis.comparability import some
from bench_assets.analysis.report.html import Html, sentence, table, tag
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.comparison import Comparable, Comparison, Difference, Weight
from bench_assets.contracts.run import RunRecord

WORDS: dict[Comparable, tuple[str, str]] = {
    "comparable": ("✓ comparable", "better"),
    "comparable_with_notes": ("? comparable, with notes", "even"),
    "not_comparable": ("✕ not comparable", "worse"),
}
WEIGHTS: dict[Weight, str] = {"blocks": "✕ blocks", "note": "? note", "intended": "under test"}
LONGEST_VALUE = 400


def comparability_section(comparison: Comparison) -> Html:
    """Return whether the runs can be held together, every difference between their conditions, and the questions."""
    text, colour = WORDS[comparison.comparable]
    rows = [
        [WEIGHTS[one.weight], f"{one.area}: {one.name}", _text(one.baseline), _text(one.candidate), _remark(one)]
        for one in comparison.differences
    ]
    population = comparison.population
    lists = (
        ("Removed", population.removed),
        ("Added", population.added),
        ("Edited questions", population.edited_questions),
        ("Edited goldens", population.edited_goldens),
    )
    listed = [tag("li", f"{name}: {len(ids):,} ({some(ids, most=50)})") for name, ids in lists if ids]
    head = ["", "condition", "baseline", "candidate", "remark"]
    return tag(
        "section",
        tag("h2", "Conditions: ", tag("span", text, class_=f"badge {colour}")),
        tag("p", f"{population.common:,} questions are the same in both runs, and are compared."),
        tag("ul", *listed) if listed else None,
        table(head, rows, caption="Differences between the conditions of the runs") if rows else None,
        id="conditions",
    )


def provenance_section(runs: Sequence[RunRecord]) -> Html:
    """Return run.json of one run or two, side by side; rows that differ are marked."""
    flat = [_flat(run.to_json()) for run in runs]
    names = list(dict.fromkeys(name for fields in flat for name in fields))
    differing: list[list[str]] = []
    equal: list[list[str]] = []
    for name in names:
        cells = [_text(fields.get(name)) for fields in flat]
        (differing if len(set(cells)) > 1 else equal).append([name, *cells])
    head = ["", *(run.candidate for run in runs)]
    parts = [tag("h2", "Provenance")]
    if len(runs) > 1:
        parts += [tag("h3", f"{len(differing)} fields of run.json differ"), table(head, differing, caption="Differing")]
    title = "All fields of run.json" if len(runs) == 1 else f"{len(equal)} fields are equal"
    parts.append(tag("details", tag("summary", title), table(head[:2], [row[:2] for row in equal], caption="Equal")))
    return tag("section", *parts, id="provenance")


def _remark(difference: Difference) -> Html | None:
    """Return what a difference says beyond its two values."""
    plain = difference.message.startswith(f"`{difference.name}` was ")
    return None if plain else sentence(difference.message)


def _flat(fields: Mapping[str, JsonValue], prefix: str = "") -> dict[str, JsonValue]:
    return dict(_pairs(fields, prefix))


def _pairs(fields: Mapping[str, JsonValue], prefix: str) -> Iterator[tuple[str, JsonValue]]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from _pairs(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: JsonValue) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
