"""The order of versions: refs and candidates, oldest first.

Tags follow Semantic Versioning's precedence (pre-releases before their release, numeric identifiers before words),
read more widely than its grammar: `v` in front, any number of parts, a name before it (`agent/v1.2`, `agent-1.2`), and
PEP 440's forms (`1.2rc1`, `1.2.post1`, `1.2.dev3`). `packaging.version` is of no use here: it takes `1.2.3-1` for a
post-release and refuses `1.2.3-alpha.beta` and `1.2.3-SNAPSHOT`. Unlike strict Semantic Versioning, `rc10` comes after
`rc9`, because that is what people who write it mean; and `v1.2.3-4-gabcdef0`, git's name for the fourth commit after a
tag, comes after the tag.
"""

import re
from typing import NamedTuple

from bench_assets.contracts.agent import CandidateKey
from bench_assets.errors import InvalidAgent

VERSION = re.compile(
    r"""(?:^|[/_@-])
    (?P<v>v?)(?P<release>\d+(?:\.\d+)*)
    (?:
        -(?P<commits>\d+)-g[0-9a-f]{7,40}
      | [-._]?post[-._]?(?P<post>\d*)
      | [-._]?(?P<pre>dev|alpha|beta|preview|pre|rc|a|b|c)(?P<number>[-._]?\d+)?
      | -(?P<identifiers>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)
    )?
    (?:\+[0-9A-Za-z.-]+)?$""",
    re.VERBOSE | re.IGNORECASE,
)

SPELLINGS = {"a": "alpha", "b": "beta", "c": "rc", "pre": "rc", "preview": "rc", "dev": "\0"}
"""Other names of the usual stages; `dev` comes before all of them."""

Identifier = tuple[int, int, str]


class VersionOrder(NamedTuple):
    """Where a ref stands; compares with `<`. Refs that are no versions come before all versions, by time."""

    is_version: bool
    release: tuple[int, ...]
    """Without trailing zeros: 1.2 and 1.2.0 are equal."""
    stage: int
    """-1 before the release, 0 the release, 1 after it."""
    identifiers: tuple[Identifier, ...]
    time: str
    """What breaks ties: ISO 8601, UTC, or empty."""


def version_order(ref: str, *, time: str = "") -> VersionOrder:
    """Return the place of a git ref. `time` orders refs that are no versions, such as branches and commits."""
    match = VERSION.search(ref.removeprefix("refs/tags/"))
    if match is None or (not match["v"] and "." not in match["release"]):
        return VersionOrder(False, (), 0, (), time)
    stage, identifiers = _suffix(match)
    return VersionOrder(True, _release(match["release"]), stage, identifiers, time)


def candidate_order(candidate: str, *, time: str = "") -> VersionOrder:
    """Return the place of a candidate by its ref; text that is no candidate's key counts as no version."""
    try:
        return version_order(CandidateKey.parse(candidate).ref, time=time)
    except InvalidAgent:
        return VersionOrder(False, (), 0, (), time)


def _release(text: str) -> tuple[int, ...]:
    parts = [int(part) for part in text.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _suffix(match: re.Match[str]) -> tuple[int, tuple[Identifier, ...]]:
    if match["commits"] is not None:
        return 1, (_number(match["commits"]),)
    if match["post"] is not None:
        return 1, (_number(match["post"] or "0"),)
    if match["pre"] is not None:
        word = match["pre"].lower()
        number = (match["number"] or "").lstrip("-._")
        return -1, (_word(SPELLINGS.get(word, word)), *([_number(number)] if number else []))
    if match["identifiers"] is not None:
        return -1, tuple(part for text in match["identifiers"].split(".") for part in _parts(text.lower()))
    return 0, ()


def _parts(text: str) -> list[Identifier]:
    if text.isdigit():
        return [_number(text)]
    split = re.fullmatch(r"(.*?[^0-9])(\d+)", text)
    word = (split[1] if split else text).rstrip("-")
    return [_word(SPELLINGS.get(word, word)), *([_number(split[2])] if split else [])]


def _number(text: str) -> Identifier:
    return (0, int(text), "")


def _word(text: str) -> Identifier:
    return (1, 0, text)
