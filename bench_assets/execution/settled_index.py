"""What is settled in a journal and where it stands there, in about 40 bytes an execution."""

from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import get_args
from weakref import WeakMethod

from bench_assets.contracts.answer import ErrorKind, SettledExecution
from bench_assets.execution.journal_lines import SettledStatus
from bench_assets.text_numbers import TextNumbers

CAUSES: tuple[ErrorKind | None, ...] = (None, *get_args(ErrorKind))
_CODES = {cause: code for code, cause in enumerate(CAUSES)}


class SettledIndex(Mapping[str, SettledStatus]):
    """Maps an execution_id to how it stands, and knows the place of its last record.

    Looking one up takes a microsecond or two. Going through the execution_ids themselves reads every record, as they
    are not kept.
    """

    def __init__(self, read: Callable[[int], SettledExecution]) -> None:
        """`read` is a method of whoever owns the index; it returns the last record of the execution with a number."""
        self._read = WeakMethod(read)  # else the two would hold each other, until some collector comes by
        self._numbers = TextNumbers()
        self._places = array("Q")
        self._lengths = array("I")
        self._status = array("I")  # attempts × 16 + the cause's place in CAUSES
        self.answered = 0
        """Executions whose last record is an answer."""

    def note(self, record: SettledExecution, *, place: int, length: int) -> int:
        """Note a record in place of an earlier one of its execution; return the execution's number."""
        cause = None if record.error is None else record.error.kind
        status = len(record.attempts) * 16 + _CODES[cause]
        number, is_new = self._numbers.add(record.execution_id)
        if is_new:
            self._places.append(place)
            self._lengths.append(length)
            self._status.append(status)
        else:
            self.answered -= self._status[number] % 16 == 0
            self._places[number], self._lengths[number], self._status[number] = place, length, status
        self.answered += cause is None
        return number

    def move(self, number: int, *, place: int) -> None:
        """Note where the record of an execution stands now. Safe from another thread."""
        self._places[number] = place

    def number(self, execution_id: str) -> int:
        """Return an execution's number. Raises KeyError for one that is not settled."""
        number = self._numbers.find(execution_id)
        if number is None:
            raise KeyError(execution_id)
        return number

    def place(self, number: int) -> tuple[int, int]:
        """Return the place and the length of an execution's last record."""
        return self._places[number], self._lengths[number]

    def __getitem__(self, execution_id: str) -> SettledStatus:
        """Return how an execution stands. Raises KeyError for one that is not settled."""
        return _status(self._status[self.number(execution_id)])

    def __iter__(self) -> Iterator[str]:
        """Yield the execution_ids, in the order in which they were first settled."""
        read = self._read()
        assert read is not None
        for number in range(len(self)):
            yield read(number).execution_id

    def __len__(self) -> int:
        """Return how many executions are settled."""
        return len(self._numbers)

    def __contains__(self, execution_id: object) -> bool:
        """Return whether an execution is settled."""
        return isinstance(execution_id, str) and execution_id in self._numbers


@lru_cache(maxsize=1024)
def _status(packed: int) -> SettledStatus:
    cause = CAUSES[packed % 16]
    return SettledStatus("answered" if cause is None else "error", cause, packed // 16)
