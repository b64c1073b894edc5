"""Numbers many distinct texts without holding them."""

import hashlib
from array import array

WIDTH = 16
"""Bytes of the digest that stands for a text. Among a million texts two share one with a chance of 1 in 10²⁶."""


class TextNumbers:
    """Gives each distinct text a number, from 0 in the order of arrival: 22 to 32 bytes a text, however long it is.

    A dict would take several times as much. What belongs to a text is kept beside it, in arrays by its number.
    """

    def __init__(self) -> None:
        self._digests = bytearray()  # by number
        self._slots = array("I", [0]) * 64  # a hash table with open addressing; 0 is free, else the number + 1

    def add(self, text: str) -> tuple[int, bool]:
        """Return the text's number, and whether it is new."""
        digest = _digest(text)
        slot, number = self._look(digest)
        if number is not None:
            return number, False
        number = len(self)
        self._digests += digest
        self._slots[slot] = number + 1
        if 3 * (number + 1) > 2 * len(self._slots):
            self._grow()
        return number, True

    def find(self, text: str) -> int | None:
        """Return the text's number; None for one that was never added."""
        return self._look(_digest(text))[1]

    def __len__(self) -> int:
        """Return how many distinct texts there are."""
        return len(self._digests) // WIDTH

    def __contains__(self, text: str) -> bool:
        """Return whether the text was added."""
        return self.find(text) is not None

    def _look(self, digest: bytes) -> tuple[int, int | None]:
        """Return the slot where a digest is or would be, and its number."""
        slots, digests = self._slots, self._digests
        mask = len(slots) - 1
        slot = int.from_bytes(digest[:8], "little") & mask
        while found := slots[slot]:
            if digests.startswith(digest, (found - 1) * WIDTH):
                return slot, found - 1
            slot = (slot + 1) & mask
        return slot, None

    def _grow(self) -> None:
        mask = 2 * len(self._slots) - 1
        slots = self._slots = array("I", [0]) * (mask + 1)
        for number, at in enumerate(range(0, len(self._digests), WIDTH), start=1):
            slot = int.from_bytes(self._digests[at : at + 8], "little") & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = number


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=WIDTH).digest()
