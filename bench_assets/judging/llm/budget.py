"""What one scoring may spend on its judges."""

import threading
from collections.abc import Mapping

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge

USUAL_REPLY = 300
"""Tokens of a verdict, where the judge's settings do not bound it."""


class BudgetSpent(Exception):
    """Raised when the next request could go past a limit. The text names it."""


class Budget:
    """Counts requests, tokens and money over all judges of a scoring, from any thread.

    Each request reserves what it may cost before it is sent: the size of its texts, or that of the largest request so
    far. So the limits hold with many requests in flight, and the last few answers may be refused although they would
    just have fitted. Where an endpoint reports no usage, the reservation is what is counted.
    """

    def __init__(self, spec: JudgeSpec) -> None:
        """Raises InvalidJudge for a limit in money without the price of each model."""
        self._calls, self._tokens, self._cost = spec.max_judge_calls, spec.max_judge_tokens, spec.max_judge_cost
        self._prices = spec.prices
        if self._cost is not None:
            for model in {spec.model, *(str(member.get("model", spec.model)) for member in spec.panel)}:
                if model and model not in self._prices:
                    raise InvalidJudge(
                        f"`max_judge_cost` needs the price of `{model}`: give it in `prices`, for instance "
                        f"`prices: {{{model}: {{prompt: 0.15, completion: 0.6}}}}` a million tokens."
                    )
        self._lock = threading.Lock()
        self._spent_calls = 0
        self._spent_tokens = 0
        self._spent_cost = 0.0
        self._largest = 0

    def reserve(self, *, model: str, characters: int, max_tokens: int | None) -> "Reservation":
        """Take one request out of the budget. Raises BudgetSpent when it could go past a limit."""
        reply = max_tokens or USUAL_REPLY
        with self._lock:
            tokens = max(self._largest, characters // 3 + reply)
            cost = self._price(model, prompt=tokens - reply, completion=reply)
            for name, spent, more, limit in (
                ("max_judge_calls", self._spent_calls, 1, self._calls),
                ("max_judge_tokens", self._spent_tokens, tokens, self._tokens),
                ("max_judge_cost", self._spent_cost, cost, self._cost),
            ):
                if limit is not None and spent + more > limit:
                    raise BudgetSpent(f"`{name}={limit:g}`, of which {spent:g} are spent or reserved")
            self._spent_calls += 1
            self._spent_tokens += tokens
            self._spent_cost += cost
        return Reservation(self, model=model, tokens=tokens, cost=cost)

    def settle(self, reserved: "Reservation", usage: Mapping[str, int]) -> None:
        """Put what a request has cost in the place of what was reserved for it."""
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        if prompt + completion == 0:
            return
        with self._lock:
            self._largest = max(self._largest, prompt + completion)
            self._spent_tokens += prompt + completion - reserved.tokens
            self._spent_cost += self._price(reserved.model, prompt=prompt, completion=completion) - reserved.cost

    def _price(self, model: str, *, prompt: int, completion: int) -> float:
        price = self._prices.get(model)
        return 0.0 if price is None else (prompt * price.prompt + completion * price.completion) / 1e6


class Reservation:
    """What one request may cost."""

    def __init__(self, budget: Budget, *, model: str, tokens: int, cost: float) -> None:
        self._budget = budget
        self.model = model
        self.tokens = tokens
        self.cost = cost

    def settle(self, usage: Mapping[str, int]) -> None:
        """Say what the request has cost; nothing where its endpoint did not say."""
        self._budget.settle(self, usage)
