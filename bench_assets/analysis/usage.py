"""What an execution cost, as far as its adapter says."""

from collections.abc import Mapping

from bench_assets.contracts.base import JsonValue

MONEY = ("cost_usd", "total_cost_usd", "total_cost", "cost")
"""Keys of `usage` that hold an amount of money, the first that is there counts. One currency an agent is assumed."""

TOKENS: tuple[tuple[str, ...], ...] = (
    ("total_tokens",),
    ("totalTokens",),
    ("input_tokens", "output_tokens"),
    ("prompt_tokens", "completion_tokens"),
    ("inputTextTokens", "completionTokens"),
)
"""Keys of `usage` whose sum is the tokens; the first group that is there whole counts."""


def money_of(usage: Mapping[str, JsonValue] | None) -> float | None:
    """Return the money that `usage` names; None when it names none."""
    return next((amount for key in MONEY if (amount := _number(usage, key)) is not None), None)


def tokens_of(usage: Mapping[str, JsonValue] | None) -> float | None:
    """Return the tokens that `usage` names; None when it names none."""
    for keys in TOKENS:
        parts = [_number(usage, key) for key in keys]
        known = [part for part in parts if part is not None]
        if len(known) == len(keys):
            return sum(known)
    return None


def _number(usage: Mapping[str, JsonValue] | None, key: str) -> float | None:
    value = None if usage is None else usage.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    return None
