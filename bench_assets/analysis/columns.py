"""What a comparison needs of each question of a run, in columns: 70 bytes a question instead of some thousand."""

import hashlib
import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bench_assets.analysis.usage import money_of, tokens_of
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.outcome import OUTCOMES, Outcome
from bench_assets.contracts.score import ScoreRecord
from bench_assets.text_numbers import TextNumbers

if TYPE_CHECKING:
    import numpy as np

CODES: dict[Outcome, int] = {outcome: code for code, outcome in enumerate(OUTCOMES)}
CORRECT, MISSING = CODES["correct"], CODES["missing"]
LONGEST_MS = 2**31 - 1
"""Some 24 days; a duration beyond is kept as this."""


class Columns:
    """The questions of one run, by number in the order of its answers, and how each of their executions ended."""

    def __init__(self, repetitions: int, *, pairing: bool) -> None:
        """`pairing` also keeps what only a comparison needs: ids, digests, durations and costs."""
        self.repetitions = repetitions
        self.pairing = pairing
        self.numbers = TextNumbers()
        """By question id."""
        self.outcomes = bytearray()
        """Codes, by question and repetition; what never came is `missing`."""
        self.beyond = 0
        """Executions of a repetition that was not planned."""
        self._kept: dict[str, tuple[Outcome, ...]] | None = None
        self._ids = bytearray()
        self._ends = array("Q")
        self._asked = bytearray()
        self._durations = array("i")
        self._costs: dict[str, array[float]] = {}

    def __len__(self) -> int:
        """Return how many questions there are."""
        return len(self.outcomes) // self.repetitions

    def add(self, answer: AnswerRecord, score: ScoreRecord) -> bool:
        """Note how an execution ended; return False where its question's text is another than before."""
        number, is_new = self.numbers.add(answer.id)
        digest = _digests(answer) if self.pairing or self.repetitions > 1 else b""
        if is_new:
            self._add_question(answer.id, digest)
        elif digest[:8] != self._asked[16 * number : 16 * number + 8]:
            return False
        if not 1 <= answer.repetition <= self.repetitions:
            self.beyond += 1
            return True
        place = number * self.repetitions + answer.repetition - 1
        self.outcomes[place] = CODES[score.outcome]
        if self.pairing:
            if answer.error is None:
                self._durations[place] = min(answer.duration_ms, LONGEST_MS)
            for name, value in (("money", money_of(answer.usage)), ("tokens", tokens_of(answer.usage))):
                if value is not None:
                    self._cost(name)[place] = value
        return True

    def forget(self, *, but: Iterable[str]) -> None:
        """Forget which id has which number, for a run that is held against no other; keep what became of a few.

        Only without repetitions, where a question's number is its answer's place.
        """
        self._kept = {question_id: self.outcomes_of(question_id) for question_id in but}
        self.numbers = TextNumbers()

    @property
    def is_numbered(self) -> bool:
        """Return whether `numbers` knows every question: nothing was forgotten."""
        return self._kept is None

    def is_settled(self, question_id: str, repetition: int) -> bool:
        """Return whether an execution came already."""
        number = self.numbers.find(question_id)
        if number is None or not 1 <= repetition <= self.repetitions:
            return False
        return self.outcomes[number * self.repetitions + repetition - 1] != MISSING

    def outcomes_of(self, question_id: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a question's repetitions; none for a question that never came.

        Raises KeyError for one that was forgotten.
        """
        if self._kept is not None:
            return self._kept[question_id]
        number = self.numbers.find(question_id)
        if number is None:
            return ()
        codes = self.outcomes[number * self.repetitions : (number + 1) * self.repetitions]
        return tuple(OUTCOMES[code] for code in codes)

    def correct_of(self) -> Counter[int]:
        """Return how many questions have 0, 1, 2, … repetitions correct."""
        step = self.repetitions
        if step == 1:
            correct = self.outcomes.count(CORRECT)
            return Counter({0: len(self) - correct, 1: correct})
        return Counter(self.outcomes.count(CORRECT, at, at + step) for at in range(0, len(self.outcomes), step))

    def ids(self) -> Iterator[str]:
        """Yield the questions' ids, in order."""
        start = 0
        for end in self._ends:
            yield self._ids[start:end].decode("utf-8", "surrogatepass")
            start = end

    def id(self, number: int) -> str:
        """Return the id of the question with a number."""
        start = self._ends[number - 1] if number else 0
        return self._ids[start : self._ends[number]].decode("utf-8", "surrogatepass")

    def asked(self, number: int) -> tuple[bytes, bytes]:
        """Return digests of a question's text and of its goldens."""
        return bytes(self._asked[16 * number : 16 * number + 8]), bytes(self._asked[16 * number + 8 : 16 * number + 16])

    def codes(self) -> "np.ndarray":
        """Return the outcomes' codes: a row a question, a column a repetition."""
        import numpy as np

        return np.frombuffer(bytes(self.outcomes), dtype=np.uint8).reshape(-1, self.repetitions)

    def quantity(self, name: str) -> "np.ndarray | None":
        """Return `durations`, `money` or `tokens` as `codes`, NaN where an execution has none; None without any."""
        import numpy as np

        if name == "durations":
            found = np.array(self._durations, dtype=np.float64)
            found[found < 0] = math.nan
        elif name in self._costs:
            found = np.array(self._cost(name), dtype=np.float64)
        else:
            return None
        return found.reshape(-1, self.repetitions)

    def _add_question(self, question_id: str, digest: bytes) -> None:
        self.outcomes += bytes([MISSING]) * self.repetitions
        self._asked += digest
        if self.pairing:
            self._ids += question_id.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._ids))
            self._durations.extend([-1] * self.repetitions)

    def _cost(self, name: str) -> "array[float]":
        column = self._costs.setdefault(name, array("d"))
        if len(column) < len(self.outcomes):
            column.extend([math.nan] * (len(self.outcomes) - len(column)))
        return column


def _digests(answer: AnswerRecord) -> bytes:
    goldens = [answer.golden] if isinstance(answer.golden, str) else answer.golden
    return _digest(answer.question) + _digest(json.dumps(goldens))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
