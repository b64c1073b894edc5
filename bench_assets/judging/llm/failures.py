"""How a call to the judge's endpoint can fail, and what that means for the next one."""

from typing import Literal

FailureKind = Literal["again", "wait", "format", "never", "stop"]
"""What to do about a failed call.

`again`: it may work the next time, within the judge's budget. `wait`: the endpoint asked for patience, which costs no
budget. `format`: it does not take our `response_format`. `never`: this request is refused and would be again.
`stop`: every request would be refused.
"""


class CallFailed(Exception):
    """Raised when a call brought no reply."""

    def __init__(self, code: str, message: str, *, kind: FailureKind, wait: float | None = None) -> None:
        """`code` and `message` become a ScoreError; `wait` is the seconds that the endpoint asked for, if it did."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.kind = kind
        self.wait = wait
