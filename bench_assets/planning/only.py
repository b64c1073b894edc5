"""What of a run is to be done again."""

from typing import Literal, get_args

from bench_assets.contracts.answer import ErrorKind
from bench_assets.errors import InvalidPlan

What = Literal["errored", "missing", "changed", "unscored", "judge_error"]
"""`errored`: those that ended in an agent's error. `missing`: those that were never settled. `changed`: those whose
question is another one than in the run before. `unscored` and `judge_error`: nothing is asked, only judged."""


class Only:
    """A choice of executions: `errored`, `errored:timeout`, `missing`, `changed`, `unscored` or `judge_error`."""

    def __init__(self, text: str) -> None:
        """Read the choice. Raises InvalidPlan for any other text."""
        what, _, kind = text.partition(":")
        if what not in get_args(What) or (kind and (what != "errored" or kind not in get_args(ErrorKind))):
            raise InvalidPlan(
                f"`{text}` chooses nothing. Write one of {', '.join(get_args(What))}, or `errored:` with one of "
                f"{', '.join(get_args(ErrorKind))}."
            )
        self.what = what
        self.kind = kind or None

    def asks(self, *, settled: bool, error: str | None, changed: bool) -> bool:
        """Return whether an execution without an answer is to be asked.

        `error` is the kind of error that it ended in, None when it did not; `changed` is whether the run before had its
        question with another text.
        """
        if self.what == "errored":
            return settled and error is not None and self.kind in (None, error)
        if self.what == "missing":
            return not settled
        return self.what == "changed" and changed and not settled
