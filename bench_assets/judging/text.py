"""How matchers see text."""

import re
import unicodedata

# Written as escapes, since most of these cannot be told from each other in an editor.
_DOUBLE = "\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032`"
QUOTES = str.maketrans(dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_SINGLE, "'"))
DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"))
_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]")
_OUTER = " \"'*_"
_STOPS = ".,;:…。!?\"'*_"
"""Whatever `_END` takes off, and what may stand between."""
_END = re.compile(r"""(?:[.,;:…。]|(?:(?<=[^\W\d_])|(?<=[^\W\d_]["'*_]))[!?])+$""")


def plain(text: str) -> str:
    """Return `text` in the form that all matchers start from.

    NFKC (full-width forms, ligatures, no-break spaces become plain ones), quotes and dashes of one kind, soft hyphens
    and zero-width characters removed, white space collapsed. Case stays, and so does every other sign: `C#`, `5!`,
    `50%` and `-5` are not `C`, `5`, `50` and `5`.
    """
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text.translate(DASHES)))
    return " ".join(text.translate(QUOTES).translate(DASHES).split())


def comparable(text: str, *, ignore_case: bool) -> str:
    """Return the form in which two whole texts are compared: `plain`, without what merely surrounds it.

    Taken off are quotes and Markdown emphasis around the text, and stops at its end (`!` and `?` only after a letter).
    Text of nothing but such signs stays as it is. With `ignore_case`, case-folded (`Straße` is `STRASSE`).
    """
    whole = plain(text)
    bare = whole
    while (shorter := _without_stops(bare.strip(_OUTER))) != bare:
        bare = shorter
    return folded(bare or whole, ignore_case=ignore_case)


def _without_stops(text: str) -> str:
    # Looked for from where the last run of stops begins, as looking from the start costs a long text 100 µs.
    found = _END.search(text, len(text.rstrip(_STOPS)))
    return text if found is None else text[: found.start()]


def folded(text: str, *, ignore_case: bool) -> str:
    """Return `text` case-folded and composed again, or as it is."""
    return unicodedata.normalize("NFKC", text.casefold()) if ignore_case else text
