"""Puts results into `docs/performance.md`, between the marks of their item, and into `docs/performance.json`.

Any other page of the folder may show single tables, between `<!-- table: ITEM: beginning of its title -->` and
`<!-- end -->`.
"""

import json
import re
from pathlib import Path
from typing import Any

from perf.harness import Table


def write_document(folder: Path, item: str, outcome: dict[str, Any]) -> None:
    """Replace an item's figures in both files. Raises ValueError when the document has no place for them."""
    kept = folder / "performance.json"
    results = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    results[item] = outcome
    kept.write_text(json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    page = folder / "performance.md"
    text, count = re.subn(
        rf"(<!-- figures: {item} -->\n).*?(<!-- end -->)",
        lambda match: match[1] + "\n" + figures(outcome) + "\n" + match[2],
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if count != 1:
        raise ValueError(f"{page} has {count} places for the figures of `{item}`, and needs one.")
    page.write_text(text, encoding="utf-8")
    for other in sorted(folder.glob("*.md")):
        if other != page:
            _write_tables(other, item, outcome)


def _write_tables(page: Path, item: str, outcome: dict[str, Any]) -> None:
    def shown(match: re.Match[str]) -> str:
        table = next((one for one in outcome["tables"] if one["title"].startswith(match[2])), None)
        if table is None:
            raise ValueError(f"{page} shows a table `{match[2]}` of `{item}`, and there is none.")
        return f"{match[1]}\n{Table.from_json(table).markdown()}\n{origin(outcome)}\n{match[3]}"

    before = page.read_text(encoding="utf-8")
    marks = rf"(<!-- table: {item}: ([^>]+?) -->\n).*?(<!-- end -->)"
    text = re.sub(marks, shown, before, flags=re.DOTALL)
    if text != before:
        page.write_text(text, encoding="utf-8")


def figures(outcome: dict[str, Any]) -> str:
    """Return an item's tables as Markdown, below the command, the machine and the commit they came from."""
    return "\n".join([origin(outcome), *(Table.from_json(table).markdown() for table in outcome["tables"])])


def origin(outcome: dict[str, Any]) -> str:
    """Return the command, the machine and the commit that figures came from, as a line."""
    where = outcome["machine"]
    return (
        f"`{outcome['command']}` on {outcome['date']}, commit {outcome['commit'] or 'unknown'}: {where['cores']} cores "
        f"({where['processor']}), {where['memory_gib']} GiB, {where['system']}, Python {where['python']}; "
        f"load before it {where['load_before']}; medians of {outcome['rounds']} rounds where no table says otherwise; "
        f"took {outcome['took_sec']} s.\n"
    )
