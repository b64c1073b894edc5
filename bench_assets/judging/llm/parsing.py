"""Reads a judge's reply: a label and a reason, or the reason why there is none. Never a guess.

1. A reply that is one JSON value as a whole must be an object with a `label`.
2. Otherwise what stands before the end of a thinking block is dropped, and the structures in the rest are read from
   the left (`objects.py`). Code fences and prose around them do not matter. Of the objects with a `label` the last one
   is the verdict; a structure that is broken or cut off spoils the reply, because what it quotes cannot be told from
   what it says.
3. A label must be one of ours as a whole, in any case: `Incorrect`, `NOT ATTEMPTED`. `partially correct` is none.
4. An object that the answer itself holds, in a reply that is more than an object, is a quote and no verdict.
"""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass

from bench_assets.contracts.base import JsonValue, clean_text
from bench_assets.contracts.outcome import LABELS, Label
from bench_assets.judging.llm.objects import Broken, Found, structures, whole_json

LONGEST = 200_000
"""Characters of a reply that are read. A verdict has a few hundred; a longer reply is a model in a loop."""

_OPEN = re.compile(r"<(?:think|thinking|thought|reasoning|reflection)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning|reflection)>", re.IGNORECASE)
_TAG = re.compile(f"{_OPEN.pattern}|{_CLOSE.pattern}", re.IGNORECASE)


@dataclass(frozen=True)
class ParsedVerdict:
    """What a reply says."""

    label: Label
    reason: str


@dataclass(frozen=True)
class ReplyFault:
    """Why a reply says nothing."""

    code: str
    """One of the codes that `ScoreError.code` names."""
    message: str


def parse_reply(text: str, *, answer: str = "") -> ParsedVerdict | ReplyFault:
    """Return the verdict in a judge's reply, or why there is none. Never raises.

    `answer` is the text that was judged; objects in it do not count when the reply quotes them.
    """
    if len(text) > LONGEST:
        return ReplyFault("too_long", f"The reply has {len(text):,} characters, more than {LONGEST:,}.")
    text = text.strip().lstrip("\ufeff").strip()
    if not text:
        return ReplyFault("judge_empty", "The reply is empty.")
    is_json, value = whole_json(text)
    if is_json and not isinstance(value, dict):
        return ReplyFault("wrong_shape", f"The reply is {_kind(value)}, not an object with `reason` and `label`.")
    body = text if is_json else _after_thinking(text)
    if isinstance(body, ReplyFault):
        return body
    quotable = frozenset() if is_json else _verdicts_in(answer)
    return _last_verdict(body, quotable=quotable)


def match_label(value: JsonValue) -> Label | None:
    """Return the label that `value` is, as a whole; None for anything else."""
    if not isinstance(value, str):
        return None
    word = re.sub(r"[\s_-]+", "_", value.strip(" \t\r\n.*`\"'").lower())
    return next((label for label in LABELS if label == word), None)


def _last_verdict(text: str, *, quotable: frozenset[tuple[str, str]]) -> ParsedVerdict | ReplyFault:
    last: ParsedVerdict | ReplyFault | None = None
    seen = False
    for found in structures(text):
        if isinstance(found, Broken):
            if found.unfinished:
                return ReplyFault("truncated", "The reply ends in the middle of an object.")
            return ReplyFault("broken_json", f"The object at character {found.start + 1} of the reply cannot be read.")
        seen = True
        verdict = _verdict(found)
        if verdict is None or (isinstance(verdict, ParsedVerdict) and _signature(found) in quotable):
            continue
        last = verdict
    if last is not None:
        return last
    if seen:
        return ReplyFault("wrong_shape", "The reply holds no object with a `label` of its own.")
    return ReplyFault("unknown_label", f"The reply holds no object with a `label`: `{_start_of(text)}`.")


def _verdict(found: Found) -> ParsedVerdict | ReplyFault | None:
    """Return what an object says; None for a structure that is not about a label at all."""
    if not isinstance(found.value, dict) or "label" not in found.value:
        return None
    value = found.value["label"]
    if len({match_label(item) for item in found.repeated.get("label", [])}) > 1:
        return ReplyFault("ambiguous_label", "The object names `label` more than once, with different values.")
    if not isinstance(value, str):
        return ReplyFault("wrong_shape", f"The `label` is {_kind(value)}, not text.")
    label = match_label(value)
    if label is None:
        return ReplyFault("unknown_label", f"The label `{_start_of(value)}` is none of {', '.join(LABELS)}.")
    return ParsedVerdict(label=label, reason=_reason(found.value.get("reason")))


def _reason(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return clean_text(text).strip()


def _after_thinking(text: str) -> str | ReplyFault:
    """Return what follows the thinking. Tags inside a structure's texts are quotes and do not count."""
    start = 0
    while opening := _OPEN.match(text, start):
        closing = _CLOSE.search(text, opening.end())
        if closing is None:
            return ReplyFault("truncated", "The reply ends in the middle of the judge's thinking.")
        start = closing.end()
        while text[start : start + 1].isspace():
            start += 1
    text = text[start:]
    tags = _loose_tags(text)
    if not tags:
        return text
    # Some servers swallow the opening tag. Then the one closing tag must end a line of running text: a reply that
    # begins with an object or a fence has begun with its verdict, and the tag is one that it quotes.
    only = tags[0]
    ends_line = text[only.end() : only.end() + 80].lstrip(" \t").startswith(("\n", "\r\n", "{", "`"))
    if len(tags) == 1 and _CLOSE.fullmatch(only[0]) and ends_line and not text.startswith(("{", "[", "`")):
        return text[only.end() :].strip()
    return ReplyFault("broken_json", "The reply holds thinking tags that do not pair up, so its verdict is in doubt.")


def _loose_tags(text: str) -> list[re.Match[str]]:
    """Return the first two thinking tags that stand outside of all structures."""
    spans = [(found.start, found.end) for found in structures(text) if isinstance(found, Found)]
    starts = [start for start, _ in spans]
    loose: list[re.Match[str]] = []
    for tag in _TAG.finditer(text):
        before = bisect_right(starts, tag.start()) - 1
        if before < 0 or tag.start() >= spans[before][1]:
            loose.append(tag)
            if len(loose) == 2:
                break
    return loose


def _verdicts_in(answer: str) -> frozenset[tuple[str, str]]:
    if "label" not in answer:
        return frozenset()
    found = (item for item in structures(answer[:LONGEST]) if isinstance(item, Found) and _verdict(item) is not None)
    return frozenset(_signature(item) for item in found)


def _signature(found: Found) -> tuple[str, str]:
    value = found.value if isinstance(found.value, dict) else {}
    return str(value.get("label")).strip().lower(), _reason(value.get("reason"))


def _kind(value: JsonValue) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), "something else")


def _start_of(text: str) -> str:
    line = " ".join(clean_text(text).split())
    return line if len(line) <= 80 else line[:79] + "…"
