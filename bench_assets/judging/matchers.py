"""The matchers: what a golden and an answer have to share.

All of them take one golden or a list of which any is enough, see text as `bench_assets.judging.text.plain` does, and
return a label with a reason for a person. An answer that is not correct is `not_attempted` when it is `[]`, `{}`, `""`
or `''`, or when one of the spec's `not_attempted` expressions is found in it; blank answers never get here. Without
such expressions refusals in words ("I do not know") are `incorrect`: telling them from an attempt needs a judge.

- `exact_match`: equal as whole texts (`bench_assets.judging.text.comparable`).
- `contains`: the golden stands in the answer as words of its own: `Paris` is not in `Parisian`, `4` not in `14` or
  `4.5`. Scripts without letter case (Chinese, Thai, Arabic, …) have no such edges and match anywhere.
- `regex`: the golden is a regular expression that is found somewhere in the answer as it was given.
- `numeric`: see `numbers.py`.
- `choice`: see `choices.py`.
- `token_f1`: see `token_f1.py`.
- `python`: see `functions.py`; not among the functions here, since it needs a process of its own.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.outcome import Label
from bench_assets.errors import InvalidJudge
from bench_assets.judging.choices import choice, choice_fault
from bench_assets.judging.numbers import numeric, numeric_fault
from bench_assets.judging.text import comparable, folded, plain
from bench_assets.judging.token_f1 import token_f1

Golden = str | list[str]


@dataclass(frozen=True)
class Match:
    """What a matcher says."""

    label: Label
    reason: str


EMPTY_ANSWERS = frozenset({"[]", "{}", '""', "''", "()"})
"""How an agent writes that it has nothing."""


class Search(Protocol):
    """Looks for the first of some regular expressions that is found in a text."""

    def __call__(self, patterns: list[str], text: str, *, ignore_case: bool) -> tuple[int, str] | None:
        """Return its index and what it matched; None when none is found."""


def search_here(patterns: list[str], text: str, *, ignore_case: bool) -> tuple[int, str] | None:
    """Search in this process, without a time limit. `RegexSearcher.search` has one."""
    for index, pattern in enumerate(patterns):
        found = re.search(pattern, text, re.IGNORECASE if ignore_case else 0)
        if found is not None:
            return index, found[0]
    return None


def match(golden: Golden, answer: str, spec: JudgeSpec, *, search: Search = search_here) -> Match:
    """Return what the matcher of `spec` makes of an answer.

    `search` is how `regex` searches. Raises InvalidJudge when `spec` is an LLM judge or a function of one's own.
    """
    matcher = MATCHERS.get(spec.type)
    if matcher is None:
        raise InvalidJudge(f"`{spec.type}` cannot match here; {', '.join(f'`{name}`' for name in MATCHERS)} can.")
    label, reason = regex(golden, answer, spec, search=search) if matcher is regex else matcher(golden, answer, spec)
    return refusal(Match(label, reason), answer, spec, search=search)


def refusal(found: Match, answer: str, spec: JudgeSpec, *, search: Search = search_here) -> Match:
    """Return `found`, or `not_attempted` where an answer that is not correct did not try."""
    if found.label == "correct":
        return found
    if "".join(plain(answer).split()) in EMPTY_ANSWERS:
        return Match("not_attempted", f"The answer `{answer.strip()}` is empty.")
    refused = search(spec.not_attempted, answer, ignore_case=True) if spec.not_attempted else None
    if refused is not None:
        return Match("not_attempted", f"The answer does not try: `{_short(refused[1])}`.")
    return found


def golden_fault(golden: Golden, spec: JudgeSpec) -> str | None:
    """Return why a golden cannot be used with the matcher of `spec`; None when it can, or when a judge reads it."""
    if not spec.is_matcher:
        return None
    goldens = _goldens(golden)
    if not goldens:
        return "the list of goldens is empty"
    for item in goldens:
        if not item.strip() and spec.type != "python":
            return f"a golden is empty, and `{spec.type}` would find it in every answer"
        check = _FAULTS.get(spec.type)
        fault = check(item, spec) if check else None
        if fault is not None:
            return fault
    return None


def exact_match(golden: Golden, answer: str, spec: JudgeSpec) -> tuple[Label, str]:
    """Label an answer that is a golden as a whole text."""
    said = comparable(answer, ignore_case=spec.ignore_case)
    for item in _goldens(golden):
        if comparable(item, ignore_case=spec.ignore_case) == said:
            return "correct", f"The answer is `{_short(item)}`."
    return "incorrect", f"The answer `{_short(answer)}` is not {_listed(golden)}."


def contains(golden: Golden, answer: str, spec: JudgeSpec) -> tuple[Label, str]:
    """Label an answer in which a golden stands as words of its own."""
    said = folded(plain(answer), ignore_case=spec.ignore_case)
    for item in _goldens(golden):
        wanted = comparable(item, ignore_case=spec.ignore_case)
        if _stands_in(wanted, said):
            return "correct", f"The answer contains `{_short(item)}`."
        if wanted in said:
            return "incorrect", f"The answer contains `{_short(item)}` only as a part of a longer word or number."
    return "incorrect", f"The answer does not contain {_listed(golden)}."


def regex(golden: Golden, answer: str, spec: JudgeSpec, *, search: Search = search_here) -> tuple[Label, str]:
    """Label an answer in which a golden, a regular expression, is found. Raises re.error for one that is none."""
    goldens = _goldens(golden)
    found = search(goldens, answer, ignore_case=spec.ignore_case)
    if found is not None:
        return "correct", f"`{_short(goldens[found[0]])}` matches `{_short(found[1])}`."
    return "incorrect", f"The answer does not match {_listed(golden)}."


def _regex_fault(golden: str, _spec: JudgeSpec) -> str | None:
    try:
        re.compile(golden)
    except (re.error, OverflowError, RecursionError) as error:
        return f"the golden `{_short(golden)}` is no regular expression: {error}"
    return None


def spec_fault(spec: JudgeSpec) -> str | None:
    """Return why a matcher's settings cannot be used; None when they can."""
    for pattern in spec.not_attempted:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            return f"`not_attempted` holds `{_short(pattern)}`, which is no regular expression: {error}"
    return None


def _stands_in(wanted: str, said: str) -> bool:
    start = said.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before = said[max(0, start - 2) : start][::-1]
        if not _runs_on(wanted[0], before) and not _runs_on(wanted[-1], said[end : end + 2]):
            return True
        start = said.find(wanted, start + 1)
    return False


def _runs_on(edge: str, outside: str) -> bool:
    """True when the word or number that ends in `edge` goes on in the next two characters outside."""
    if not outside:
        return False
    if edge.isdigit():
        return outside[0].isdigit() or (outside[0] in ".," and outside[1:].isdigit())
    return _cased(edge) and _cased(outside[0])


def _cased(char: str) -> bool:
    return char.lower() != char.upper()


def _goldens(golden: Golden) -> list[str]:
    return [golden] if isinstance(golden, str) else golden


def _listed(golden: Golden) -> str:
    shown = " or ".join(f"`{_short(item)}`" for item in _goldens(golden)[:5])
    return shown + (" or others" if len(_goldens(golden)) > 5 else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:99] + "…"


MATCHERS: dict[str, Callable[[Golden, str, JudgeSpec], tuple[Label, str]]] = {
    "exact_match": exact_match,
    "contains": contains,
    "regex": regex,
    "numeric": numeric,
    "choice": choice,
    "token_f1": token_f1,
}

_FAULTS: dict[str, Callable[[str, JudgeSpec], str | None]] = {
    "regex": _regex_fault,
    "numeric": numeric_fault,
    "choice": choice_fault,
}
