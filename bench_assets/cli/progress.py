"""A progress bar on a terminal, log lines elsewhere."""

import logging
import os
import sys

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bench_assets.stages.progress import LogReporter, Reporter

logger = logging.getLogger("bench_assets")


class BarReporter:
    """Shows one bar at a time on a terminal."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
        )
        self._console = console
        self._task: TaskID | None = None

    def start(self, title: str, *, total: int) -> None:
        """Show a bar."""
        self._progress.start()
        self._task = self._progress.add_task(title, total=total, note="")

    def advance(self, done: int, *, note: str = "") -> None:
        """Move the bar."""
        if self._task is not None:
            self._progress.update(self._task, completed=done, note=note)

    def finish(self) -> None:
        """Take the bar away."""
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        self._progress.stop()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(text, markup=False, highlight=False)

    def detail(self, text: str) -> None:
        """Log a line."""
        logger.debug(text)


def open_reporter() -> Reporter:
    """Return what fits standard error: a bar on a terminal, else a line every ten seconds."""
    if sys.stderr.isatty():
        # A descriptor of our own: during a run Dagster's capture of logs stands in the place of standard error.
        console = Console(file=os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8"))
        if not console.is_dumb_terminal:
            return BarReporter(console)
    return LogReporter(lambda text: click.echo(text, err=True), detail=logger.debug)
