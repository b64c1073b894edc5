"""What every measurement is made of: pairs of timings taken in turns, tables, goals, and the machine they ran on."""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

Cell = str | float | int | None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How one measurement is to be done."""

    folder: Path
    """An empty folder for whatever it writes; removed afterwards."""
    rounds: int = 5
    """Pairs of timings. The figures are medians over them."""
    quick: bool = False
    """True for sizes that show that the measurement works, and nothing else."""

    def note(self, text: str) -> None:
        """Say on standard error what is under way."""
        sys.stderr.write(f"  {text}\n")
        sys.stderr.flush()


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a figure should be."""

    text: str
    """For instance `at least 50 % of the bare rate, 2 workers`."""
    value: float
    """What was measured, in the goal's own unit."""
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""

    @property
    def is_met(self) -> bool:
        """Return whether the value lies within the bounds."""
        return (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )


@dataclass(kw_only=True)
class Table:
    """A result that people look at."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences below the table: what was not measured, and why."""

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON values; a goal also says whether it is met."""
        fields = asdict(self)
        fields["goals"] = [{**asdict(goal), "is_met": goal.is_met} for goal in self.goals]
        return fields

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Return the table that `to_json` wrote."""
        goals = [Goal(**{name: value for name, value in goal.items() if name != "is_met"}) for goal in fields["goals"]]
        return cls(**{**fields, "goals": goals})

    def markdown(self) -> str:
        """Return the table, its goals and notes as Markdown."""
        lines = [f"**{self.title}**", "", _row(self.columns), _row(["---"] * len(self.columns))]
        lines += [_row([shown(cell) for cell in row]) for row in self.rows]
        for goal in self.goals:
            value = f"{shown(goal.value)} {goal.unit}".strip()
            lines += ["", f"{'Met' if goal.is_met else '**Not met**'}: {goal.text}; measured {value}."]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Pair:
    """Figures of two things, measured in turns."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def medians(self) -> tuple[float, float]:
        """Return both medians."""
        return statistics.median(self.first), statistics.median(self.second)

    @property
    def ratios(self) -> list[float]:
        """Return first / second of each round."""
        return [one / other for one, other in zip(self.first, self.second, strict=True)]

    @property
    def ratio(self) -> float:
        """Return the median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def spread(self) -> str:
        """Return the least and the greatest ratio of the rounds, as text."""
        return f"{shown(min(self.ratios))} – {shown(max(self.ratios))}"


def in_turns(first: Callable[[], float], second: Callable[[], float], *, rounds: int) -> Pair:
    """Measure both in each round, the other one first in every second round; each returns its figure."""
    figures: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for index in (0, 1) if number % 2 == 0 else (1, 0):
            figures[index].append((first, second)[index]())
    return Pair(tuple(figures[0]), tuple(figures[1]))


def seconds(action: Callable[[], object]) -> float:
    """Return how long a call takes, in seconds of the wall's clock."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def shown(cell: Cell) -> str:
    """Return a figure with three significant digits, and text as it is."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or abs(cell) >= 1000:
        return f"{round(cell):,}"
    if cell == 0:
        return "0"
    digits = 2 if abs(cell) >= 1 else 3
    return f"{cell:.3g}" if abs(cell) < 0.001 else f"{cell:.{digits}f}"


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    memory = None
    with suppress(ValueError, OSError):
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    return {
        "processor": name,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": memory,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
