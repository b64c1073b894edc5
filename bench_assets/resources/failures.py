"""Our errors, told the way Dagster tells failures."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from bench_assets.errors import BenchError, Interrupted, InvalidInput


class BenchFailure(dg.Failure):
    """A failed step, with the error behind it."""

    def __init__(self, error: BenchError) -> None:
        kind = {"kind": "bad input"} if isinstance(error, InvalidInput) else {}
        super().__init__(description=str(error), metadata=kind, allow_retries=not error.permanent)
        self.error = error

    @property
    def is_bad_input(self) -> bool:
        """True when what the user gave cannot be used."""
        return isinstance(self.error, InvalidInput)


@contextmanager
def as_failures() -> Iterator[None]:
    """Turn our errors into Dagster failures whose description is the sentence, without the traceback of our code.

    A stop that was asked for becomes Dagster's own interruption, so that the run is shown as canceled.
    """
    try:
        yield
    except Interrupted as error:
        raise dg.DagsterExecutionInterruptedError(str(error)) from None
    except BenchError as error:
        raise BenchFailure(error) from None
