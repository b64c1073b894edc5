"""The first solver: works from left to right, and knows digits only."""

import re

NAME = "left to right"


def solve(question):
    """Return the value of the sum in `question`; None where there is none to be seen."""
    tokens = re.findall(r"\d[\d,]*(?:\.\d+)?|[-+*/]", question)
    numbers = [token for token in tokens if token[0].isdigit()]
    if len(numbers) < 2 or len(tokens) != 2 * len(numbers) - 1:
        return None
    value = _number(tokens[0])
    for sign, token in zip(tokens[1::2], tokens[2::2]):
        value = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": lambda a, b: a / b,
        }[sign](value, _number(token))
    return value


def _number(text):
    return float(text.replace(",", ""))
