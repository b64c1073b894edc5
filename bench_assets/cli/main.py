"""The group of commands, and what their errors and exit codes mean.

Exit codes: 0 finished, 1 no usable result, 2 bad input, 130 interrupted.
"""

import gc
import importlib
import sys
from collections.abc import Sequence

import click

from bench_assets import __version__

COMMANDS = {
    "run": "bench_assets.cli.run:run",
    "status": "bench_assets.cli.status:status",
    "compare": "bench_assets.cli.compare:compare",
    "gate": "bench_assets.cli.gate:gate",
    "report": "bench_assets.cli.report:report",
    "history": "bench_assets.cli.history:history",
    "leaderboard": "bench_assets.cli.history:leaderboard",
    "benchmarks": "bench_assets.cli.benchmarks:benchmarks",
    "validate": "bench_assets.cli.benchmarks:validate",
    "import": "bench_assets.cli.importing:import_",
    "candidates": "bench_assets.cli.candidates:candidates",
    "judge": "bench_assets.cli.judge:judge",
}
SUMMARIES = {
    "run": "Benchmark one agent: ask, judge, sum up, store.",
    "status": "Tell how far a run has come.",
    "compare": "Hold two runs together, question by question.",
    "gate": "Decide whether a candidate may take its baseline's place: exit code 0, 1 or 2.",
    "report": "Write a run, or one against another, into a file that opens anywhere.",
    "history": "Show each version's result, by version.",
    "leaderboard": "Rank the candidates of a benchmark.",
    "benchmarks": "List the benchmarks of this project.",
    "validate": "Check a benchmark's spec and every row of its dataset.",
    "import": "Turn a table (CSV, TSV, JSON) into a dataset.",
    "candidates": "Register agents' versions for the UI and for `dagster asset materialize`.",
    "judge": "Hold a judge against people, score a run again, see which labels change.",
}


class LazyGroup(click.Group):
    """Knows its commands' names and summaries, and imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that is not known."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bench-assets")
def group() -> None:
    """Is this version of our agent better, and can we trust the number?

    Exit codes: 0 finished, 1 no usable result, 2 bad input, 130 interrupted. `gate` has its own.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    code = execute(sys.argv[1:] if arguments is None else list(arguments))
    gc.freeze()  # the process ends, and Python would look through every object of it once more
    sys.exit(code)


def execute(arguments: list[str]) -> int:
    """Run the command line. Returns the exit code; a user's mistake is a sentence on standard error."""
    try:
        code = group.main(arguments, prog_name="bench-assets", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", code=130)
    except Exception as error:
        from bench_assets.errors import BenchError, Interrupted, InvalidInput

        if isinstance(error, Interrupted):
            return _say(str(error), code=130)
        if isinstance(error, BenchError):
            return _say(f"error: {error}", code=2 if isinstance(error, InvalidInput) else 1)
        raise
    return code if isinstance(code, int) else 0


def _say(text: str, *, code: int) -> int:
    click.echo(text, err=True)
    return code
