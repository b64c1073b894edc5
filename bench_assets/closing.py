"""What holds something until it is closed."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager whose end is `close`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
