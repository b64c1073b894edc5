"""Flags a reason that says the opposite of its label: a sign that the judge slipped, for a person to look at.

The label stays what it is. Only plain statements about the answer count, so a flag is worth a look and its absence
proves nothing. English and Russian are read.
"""

import re

from bench_assets.contracts.outcome import Label

CONTRADICTION = "reason_contradicts_label"

_ABOUT = r"\b(?:answer|response|it|ответ|он)\b[^.;,]{0,40}?"
_RIGHT = re.compile(
    _ABOUT + r"\b(?P<word>correct|right|accurate|matches|верный|верен|правильный|правилен|совпадает)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    _ABOUT + r"\b(?P<word>incorrect|wrong|inaccurate|contradicts|(?:does not|doesn't) match"
    r"|(?:is not|isn't) (?:correct|right)|неверный|неверен|неправильный|неправилен|не совпадает)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|never|hardly|nothing|не)\b|n't", re.IGNORECASE)


def contradicts(label: Label, reason: str) -> bool:
    """Return whether `reason` plainly says that the answer is the opposite of `label`."""
    if label == "correct":
        return _says(_WRONG, reason) and not _says(_RIGHT, reason)
    if label == "incorrect":
        return _says(_RIGHT, reason) and not _says(_WRONG, reason)
    return False


def _says(statement: re.Pattern[str], reason: str) -> bool:
    for found in statement.finditer(reason):
        before = reason[found.start() : found.start("word")]
        if not _NEGATED.search(before):
            return True
    return False
