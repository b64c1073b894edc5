"""Reads what the README promises: its commands, its tables, its links."""

import re
from dataclasses import dataclass

BLOCK = re.compile(r"(?:^<!-- test: (?P<needs>[^\n]+) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
ROW = re.compile(r"^\| (?P<cells>.+) \|$", re.M)
LINK = re.compile(r"\]\((?!https?://)(?P<target>[^)#]+)")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    needs: str
    """What the comment above it asks for, such as `with a judge`; empty without one."""


def blocks(readme: str, language: str) -> list[Block]:
    """Return the blocks in a language, in order."""
    found = [Block(match["language"], match["text"], match["needs"] or "") for match in BLOCK.finditer(readme)]
    return [block for block in found if block.language == language]


def table(readme: str, first_heading: str) -> list[list[str]]:
    """Return the rows of the table whose first column has this heading, without the head."""
    _, _, rest = readme.partition(f"| {first_heading} |")
    body = rest.partition("\n")[2].partition("\n\n")[0]
    return [row["cells"].split(" | ") for row in ROW.finditer(body) if not row["cells"].startswith("---")]


def links(readme: str) -> list[str]:
    """Return the targets inside the repository that the text and its pictures point to."""
    return sorted({match["target"] for match in LINK.finditer(readme)})


def named(text: str) -> list[str]:
    """Return what stands in backticks."""
    return re.findall(r"`([^`]+)`", text)
