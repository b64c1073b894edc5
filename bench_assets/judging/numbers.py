r"""The `numeric` matcher: which number an answer gives, and whether it is the golden's.

- The number that counts stands behind the last `####`, in the last `\boxed{…}`, or behind the last "answer is",
  "answer:", "ответ:"; where there is no such sign, it is the last number of the answer.
- Signs `-`, `+` and all Unicode minuses count unless they stand between two numbers (`3-5` is a range).
- Thousands may be grouped by spaces of any kind, `'`, `_`, `,` or `.`: `1 234 567`, `1,234,567`, `1.234.567`.
- The decimal sign is `.` or `,`. One comma with exactly three digits behind it can be either; an answer is right under
  either reading, a golden is read as thousands (`1,234` is 1234). One such point is a decimal point (`1.234`).
- Exponents `1e5`, `1.5×10^3`, `10^6`, and simple fractions `3/4` are numbers too; `12/05/2020` is three numbers.
- Currency signs and units around a number are ignored. `%` is a unit as well, but where only one side has it, the
  number divided by 100 is right too: `50%` is `50` and `0.5`.
- Digits inside words and names are no numbers (`H2O`, `B12`, `v2`); number words (`twelve`, `5 million`) are not read.
- Equal means exactly equal as decimal numbers, or within `tolerance`, or within `relative_tolerance` × |golden|.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, DecimalException

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.outcome import Label
from bench_assets.judging.text import plain

_NUMBER = re.compile(
    r"""(?<![^\W_])(?<![.,]\d)(?<!\d[.,])        # not inside a word or another number
    (?P<sign>(?<!\d)(?<!\d\s)[-+]\s?(?:[$€£¥₽]\s?)?)?
    (?P<digits>\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d+)?(?!\d)   # 1 234 567,8
      |\d{1,3}(?:,\d{3}){2,}(?:\.\d+)?(?!\d)              # 1,234,567.8
      |\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?!\d)              # 1.234.567,8
      |\d{1,3},\d{3}\.\d+|\d{1,3}\.\d{3},\d+              # 1,234.5 and 1.234,5
      |\d+(?:[.,]\d+)?|[.]\d+)
    (?:(?:[eE]|\s?[x×*·]\s?10\s?\^?\s?)(?P<exponent>[-+]?\d{1,4})(?![\w^])|(?P<power>(?<=10)\^[-+]?\d{1,4}(?!\w)))?
    (?:\s?/\s?(?P<over>\d+)(?![\d/]|[.,]\d))?
    (?P<percent>\s?%)?""",
    re.VERBOSE,
)
_DATE = re.compile(r"\d+(?:/\d+){2,}")
_MARK = re.compile(r"####|\\boxed\s*\{|\b(?:answer|result|ответ)\b\s*(?:is\b|[:=-]|равен\b)[\s:*$]*", re.IGNORECASE)


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    text: str
    values: tuple[Decimal, ...]
    """Its readings, the usual one first."""
    percent: bool


def numeric(golden: str | list[str], answer: str, spec: JudgeSpec) -> tuple[Label, str]:
    """Label an answer whose number is a golden's."""
    said = answer_number(answer)
    if said is None:
        return "incorrect", "The answer holds no number."
    goldens = [golden] if isinstance(golden, str) else golden
    wanted = [number for item in goldens if (number := answer_number(item)) is not None]
    for number in wanted:
        if _equal(number, said, spec):
            return "correct", f"The answer's number `{said.text}` is `{number.text}`."
    listed = " or ".join(f"`{number.text}`" for number in wanted)
    return "incorrect", f"The answer's number is `{said.text}`, not {listed}."


def numeric_fault(golden: str, _spec: JudgeSpec) -> str | None:
    """Return why a golden is no number; None when it is one."""
    return None if answer_number(golden) is not None else f"the golden `{golden[:100]}` holds no number"


def answer_number(text: str) -> Number | None:
    """Return the number that counts in a text; None when it holds none."""
    text = _DATE.sub(lambda date: date[0].replace("/", ";"), plain(text))
    marks = list(_MARK.finditer(text))
    if marks:
        behind = next(_numbers(text[marks[-1].end() :]), None)
        if behind is not None:
            return behind
    return next(iter(deque(_numbers(text), maxlen=1)), None)


def _numbers(text: str) -> Iterator[Number]:
    for found in _NUMBER.finditer(text):
        values = tuple(_scaled(value, found) for value in _readings(found["digits"]))
        yield Number(text=" ".join(found[0].split()), values=values, percent=found["percent"] is not None)


def _readings(digits: str) -> Iterator[Decimal]:
    """Yield what a row of digits can mean."""
    tight = re.sub(r"[ '_]", "", digits)
    if tight.count(",") > 1 or (0 <= tight.find(",") < tight.find(".")):
        tight = tight.replace(",", "")
    elif tight.count(".") > 1 or (0 <= tight.find(".") < tight.find(",")):
        tight = tight.replace(".", "")
    if tight == digits and re.fullmatch(r"[1-9]\d{0,2},\d{3}", tight):
        yield Decimal(tight.replace(",", ""))
    yield Decimal(tight.replace(",", "."))


def _scaled(value: Decimal, found: re.Match[str]) -> Decimal:
    try:
        if found["exponent"]:
            value = value.scaleb(int(found["exponent"]))
        elif found["power"]:
            value = Decimal(1).scaleb(int(found["power"][1:]))
        if found["over"] and int(found["over"]):
            value /= Decimal(found["over"])
    except (DecimalException, ValueError):
        return Decimal("NaN")
    return -value if found["sign"] and found["sign"].startswith("-") else value


def _equal(golden: Number, said: Number, spec: JudgeSpec) -> bool:
    targets = [golden.values[0]]
    values = list(said.values)
    if golden.percent and not said.percent:
        targets.append(targets[0] / 100)
    elif said.percent and not golden.percent:
        values += [value / 100 for value in said.values]
    return any(_close(target, value, spec) for target in targets for value in values)


def _close(golden: Decimal, value: Decimal, spec: JudgeSpec) -> bool:
    if golden == value:
        return True
    if golden.is_nan() or value.is_nan():
        return False
    most = max(Decimal(repr(spec.tolerance)), Decimal(repr(spec.relative_tolerance)) * abs(golden))
    try:
        return most > 0 and abs(golden - value) <= most
    except DecimalException:
        return False
