"""Where an execution can end."""

from typing import Literal, get_args

Outcome = Literal["correct", "incorrect", "not_attempted", "agent_error", "judge_error", "missing"]
"""Exactly one of these for every planned execution; `missing` is one that was never settled."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Label = Literal["correct", "incorrect", "not_attempted"]
"""What a judge or a matcher can say of an answer."""

LABELS: tuple[Label, ...] = get_args(Label)
