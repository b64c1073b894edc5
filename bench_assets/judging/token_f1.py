"""The `token_f1` matcher: the F1 of the words that an answer shares with a golden, as SQuAD's evaluation defines it.

Lower case, ASCII punctuation and the words `a`, `an`, `the` removed, split at white space; precision and recall over
the two bags of words; the best of several goldens counts. Where either side has no words at all, F1 is 1 when both have
none, else 0. Nothing else is normalised, so that figures compare with published ones.
"""

import re
import string
from collections import Counter

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.outcome import Label

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def token_f1(golden: str | list[str], answer: str, spec: JudgeSpec) -> tuple[Label, str]:
    """Label an answer whose F1 with a golden is at least the `threshold`."""
    best, chosen = max((f1(item, answer), item) for item in ([golden] if isinstance(golden, str) else golden))
    label: Label = "correct" if best >= spec.threshold else "incorrect"
    line = " ".join(chosen.split())
    shown = line if len(line) <= 100 else line[:99] + "…"
    return label, f"F1 is {best:.2f} with `{shown}`; {spec.threshold:g} is needed."


def f1(golden: str, answer: str) -> float:
    """Return the F1 of two texts' words, from 0.0 to 1.0."""
    wanted, said = words(golden), words(answer)
    if not wanted or not said:
        return float(wanted == said)
    shared = (Counter(wanted) & Counter(said)).total()
    return 2 * shared / (len(wanted) + len(said))


def words(text: str) -> list[str]:
    """Return the words of a text as SQuAD counts them."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
