r"""The `choice` matcher: which letter an answer chooses.

Looked for in this order; the first step that finds a letter decides, and two different letters in one step are no
choice. "Answer: none …" chooses nothing.

1. The whole answer is a letter: `B`, `(b)`, `**B**.`
2. A letter behind "answer is", "answer:", "ответ:", or several in a row up to the line's end ("Answer: A or B"); then
   one in `\boxed{…}`; then one behind "option", "choice".
3. A letter set apart: `(B)`, `B)`, `**B**`, or `B.` and `B:` at the start of a line.
4. A capital letter that stands alone. `I`, and an `A` that begins a sentence, are English words and do not count here.

Only the letters of `choices` count; without it A to Z. Letters of other alphabets that look the same are other letters
(Cyrillic and Latin share a dozen shapes), unless `choices` says so.
"""

import re
import unicodedata

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.outcome import Label

LATIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_IS = r"\w*\s*(?:(?:is|would be|should be|это)\b|[:=–—-])*\s*(?:(?:option|choice|letter|вариант|буква)\b)?[:\s]*"
_OPEN = r"(?:[ (\[\"'*_$]|\\\(|\\text\s*\{)*"
"""What may stand between the sign and the letter: brackets, emphasis, the beginning of a formula."""
_NONE = re.compile(r"\b(?:answer|ответ)\s*[:=][\s*_]*(?:none|нет)\b", re.IGNORECASE)
"""An answer that says it chooses nothing: letters elsewhere in it are none that it chooses."""


def choice(golden: str | list[str], answer: str, spec: JudgeSpec) -> tuple[Label, str]:
    """Label an answer that chooses a golden's letter."""
    letters = _letters(spec)
    wanted = {
        chosen for item in ([golden] if isinstance(golden, str) else golden) for chosen in chosen_in(item, letters)
    }
    said = chosen_in(answer, letters)
    if not said:
        return "incorrect", f"The answer chooses none of {letters}."
    if len(said) > 1:
        return (
            "incorrect",
            f"The answer is ambiguous: it names {' and '.join(f'`{letter}`' for letter in sorted(said))}.",
        )
    letter = next(iter(said))
    if letter in wanted:
        return "correct", f"The answer chooses `{letter}`."
    return "incorrect", f"The answer chooses `{letter}`, not {' or '.join(f'`{item}`' for item in sorted(wanted))}."


def choice_fault(golden: str, spec: JudgeSpec) -> str | None:
    """Return why a golden names no choice; None when it names one."""
    letters = _letters(spec)
    found = chosen_in(golden, letters)
    if len(found) == 1:
        return None
    return f"the golden `{golden[:100]}` must name exactly one of the letters {letters}"


def chosen_in(text: str, letters: str) -> set[str]:
    """Return the letters that a text chooses: none, one, or several when it is ambiguous."""
    lines = (" ".join(line.split()) for line in unicodedata.normalize("NFKC", text).splitlines())
    text = "\n".join(line for line in lines if line)
    one = f"[{re.escape(letters)}{re.escape(letters.lower())}]"
    capital = f"[{re.escape(letters)}]"
    whole = re.fullmatch(rf"[\s(\[\"'*_]*({one})[\s)\]\"'*_.,:;!]*", text)
    if whole:
        return {whole[1].upper()}
    alone = rf"({capital})(?![\w'’])|({one})(?=[)\]\"'*_}}.,;:!]|$)"
    article = r"(?:^|(?<=[.!?:]\s))A\s(?!or\b|and\b|или\b|и\b)[^\W\d_]"
    if _NONE.search(text):
        return set()
    also = r"\s*(?:[,/&]|\b(?:and|or|и|или)\b)(?:\s*\b(?:and|or|и|или)\b)?\s*"
    several = rf"(?i:\b(?:answer|ответ){_IS}){_OPEN}({capital}\)?(?:{also}\(?{capital}\b\)?)+)[\W_]*$"
    if match := re.search(several, text, re.M):
        return set(re.findall(rf"\b{capital}\b", match[1]))
    for pattern in (
        rf"(?i:\b(?:answer|ответ){_IS}){_OPEN}(?:{alone})",
        rf"\\boxed\s*\{{\s*(?:\\text\s*\{{)?\s*\(?({one})\)?\s*\}}",
        rf"(?i:\b(?:option|choice|вариант){_IS}){_OPEN}(?:{alone})",
        rf"\(({one})\)|(?<![\w(])({capital})\)|\*\*\(?({one})\)?[.:]?\*\*|^({capital})[.:](?=\s|$)",
        rf"(?<![\w'’])(?!I\b)(?!{article})({capital})(?![\w'’])(?!\.\w)",
    ):
        found = {next(group for group in match.groups() if group).upper() for match in re.finditer(pattern, text, re.M)}
        if found:
            return found
    return set()


def _letters(spec: JudgeSpec) -> str:
    return "".join(dict.fromkeys((spec.choices or LATIN).upper()))
