"""Every error that bench-assets raises on purpose.

::

    BenchError                    a sentence for a person: what was asked, what was found, what to do
    ├── InvalidInput              what the user gave cannot be used; nothing was spent          (exit 2)
    │   ├── InvalidBenchmark      a benchmark.yaml or dataset.jsonl; knows file and line
    │   ├── InvalidAgent          an agents.yaml entry, an agent source or a candidate key
    │   ├── InvalidPlan           limits, samples, overrides that make no run
    │   └── InvalidJudge          judge settings that cannot judge
    ├── EnvironmentFailed         an agent's environment could not be resolved, built or restored
    ├── WorkerFailed              no worker of the agent became ready; holds its last output
    ├── StorageFailed             a store or database did not do what it was asked
    │   ├── ObjectMissing         no object under that key
    │   ├── JournalDamaged        a checkpoint holds what no writer of ours leaves behind
    │   ├── ShardBusy             another process works on the same shard
    │   └── RunConflict           the run_id is taken by another run
    ├── JudgeFailed               the judge as a whole cannot work: key refused, no such model
    └── Interrupted               a person or the platform asked to stop; what was finished is kept
"""

from pathlib import Path


class BenchError(Exception):
    """Base of all our errors. Its text is meant for the person who runs bench-assets."""

    permanent = True
    """True when trying again without changing anything cannot help."""


class InvalidInput(BenchError):
    """Raised when what the user gave cannot be used. Nothing was asked or paid for."""


class InvalidBenchmark(InvalidInput):
    """Raised when a benchmark's files cannot be used."""

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        """`line` counts from 1; None where the fault has no single line."""
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(where + message)
        self.path = path
        self.line = line


class InvalidAgent(InvalidInput):
    """Raised when an agent, its source or a candidate key cannot be used."""


class InvalidPlan(InvalidInput):
    """Raised when the settings of a run contradict each other or the benchmark."""


class InvalidJudge(InvalidInput):
    """Raised when a judge's settings cannot judge."""


class EnvironmentFailed(BenchError):
    """Raised when an agent's environment could not be resolved, built or restored."""


class WorkerFailed(BenchError):
    """Raised when no worker of the agent became ready."""

    def __init__(self, message: str, *, kind: str, stderr_tail: str = "") -> None:
        """`kind` is an error kind of `bench_assets.contracts.answer`; `stderr_tail` is what the worker last said."""
        super().__init__(message if not stderr_tail else f"{message}\nThe worker's last output:\n{stderr_tail}")
        self.kind = kind
        self.stderr_tail = stderr_tail


class StorageFailed(BenchError):
    """Raised when a store or a database did not do what it was asked."""

    permanent = False


class ObjectMissing(StorageFailed):
    """Raised when there is no object under the key that was asked for."""


class JournalDamaged(StorageFailed):
    """Raised when a checkpoint holds what no writer of ours leaves behind."""

    permanent = True


class ShardBusy(StorageFailed):
    """Raised when another process works on the same shard of the same run."""


class RunConflict(StorageFailed):
    """Raised when a run_id is taken by another run, or its finished result would be replaced by another."""

    permanent = True


class JudgeFailed(BenchError):
    """Raised when the judge as a whole cannot work, so that asking it about further answers is useless."""


class Interrupted(BenchError):
    """Raised when a person or the platform asked to stop. What was finished is kept."""

    permanent = False
