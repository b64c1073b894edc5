"""Short tables for the metadata of a materialization."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import dagster as dg

Row = TypeVar("Row")

SHOWN = 5
"""Rows of a table; more belong in the file."""

WIDTH = 160
"""Characters of a cell."""


class Samples(Generic[Row]):
    """Keeps the first few good and bad records of a stream that passes by."""

    def __init__(self) -> None:
        self.good: list[Row] = []
        self.bad: list[Row] = []

    def watch(self, rows: Iterable[Row], *, bad: Callable[[Row], bool]) -> Iterator[Row]:
        """Yield `rows` unchanged."""
        for row in rows:
            kept = self.bad if bad(row) else self.good
            if len(kept) < SHOWN:
                kept.append(row)
            yield row

    @staticmethod
    def table(rows: list[Row], **columns: Callable[[Row], Any]) -> dg.MarkdownMetadataValue:
        """Return a Markdown table of `rows`; what agents wrote cannot leave its cell."""
        if not rows:
            return dg.MetadataValue.md("none")
        lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
        lines += ["| " + " | ".join(_cell(read(row)) for read in columns.values()) + " |" for row in rows]
        return dg.MetadataValue.md("\n".join(lines))


def _cell(value: object) -> str:
    text = " ".join(str("" if value is None else value).split())
    text = text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
    for sign in "\\`*_[]|#~":
        text = text.replace(sign, "\\" + sign)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
