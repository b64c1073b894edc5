"""The second solver: knows which sign goes first, brackets, percentages and number words."""

import ast
import operator
import re

NAME = "precedence and words"

UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
TENS = {word: 10 * n for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
SIGNS = {"plus": "+", "minus": "-", "times": "*", "divided by": "/"}
DO = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def solve(question):
    """Return the value of the sum in `question`; None where there is none to be seen."""
    text = _digits(question.lower())
    text = re.sub(r"(\d),(\d{3})", r"\1\2", text)
    text = re.sub(r"([\d.]+)% of ([\d.]+)", r"\1 / 100 * \2", text)
    found = re.search(r"\(?\d[\d.]*\)?(?:\s*[-+*/]\s*[(\s]*\d[\d.]*\)?)+", text)
    return _value(ast.parse(found[0].strip(" ."), mode="eval").body) if found else None


def _digits(text):
    for word, sign in SIGNS.items():
        text = text.replace(word, sign)
    for tens, value in TENS.items():
        text = re.sub(rf"\b{tens}-(\w+)", lambda m, value=value: str(value + UNITS.index(m[1])), text)
        text = re.sub(rf"\b{tens}\b", str(value), text)
    for value, word in enumerate(UNITS):
        text = re.sub(rf"\b{word}\b", str(value), text)
    return text


def _value(node):
    if isinstance(node, ast.BinOp):
        return DO[type(node.op)](_value(node.left), _value(node.right))
    return float(node.value)
