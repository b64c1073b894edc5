"""HTML whose every text is escaped, because there is no other way to put text in."""

from collections.abc import Iterable, Sequence
from html import escape

VOID = frozenset({"input", "meta", "br", "line", "circle", "path", "rect"})
"""Elements that have no content here, and so no end tag."""

SVG = frozenset({"line", "circle", "path", "rect"})


class Html(str):
    """Text that is HTML already. Only `tag` and `join` make it, and `page.py` for the report's own two files."""

    __slots__ = ()


Child = str | None
"""Html as it is, other text escaped, None left out."""


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """Return an element. `class_`, `for_` and `aria_label` stand for `class`, `for` and `aria-label`.

    An attribute that is None or False is left out; one that is True has no value.
    """
    given = "".join(
        f" {_name(key)}" if value is True else f' {_name(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Html(f"<{name}{given}{'/' if name in SVG else ''}>")
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Html:
    """Return several pieces after one another."""
    return Html("".join(_html(child) for child in children if child is not None))


def sentence(text: str) -> Html:
    """Return one of our sentences with its quoted values, which stand in backticks, as code."""
    return join(tag("code", part) if place % 2 else part for place, part in enumerate(text.split("`")))


def table(head: Sequence[Child], rows: Iterable[Sequence[Child]], *, caption: str, figures: bool = False) -> Html:
    """Return a table whose first column heads its rows. `figures` sets the other columns right."""
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell, dir="auto") for cell in row[1:])) for row in rows
    ]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption, class_="unseen"),
            tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head))),
            tag("tbody", *body),
            class_="figures" if figures else None,
        ),
        class_="wide",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def _html(child: str) -> str:
    return child if isinstance(child, Html) else escape(child)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
