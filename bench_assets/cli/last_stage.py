"""What became of a run's last stage: some of its assets may fail without the others' being in doubt."""

from collections.abc import Collection, Iterator

import dagster as dg

from bench_assets.errors import BenchError, InvalidInput

INTERRUPTIONS = ("KeyboardInterrupt", "DagsterExecutionInterruptedError")
THE_GATE_SAYS_NO = "DagsterAssetCheckFailedError"


def check_last_stage(result: dg.ExecuteInProcessResult, *, needed: Collection[str]) -> Iterator[str]:
    """Yield what failed besides the `needed` assets, a sentence each; the gate's NO-GO is no failure.

    Raises the error of the first needed one that failed, and KeyboardInterrupt when the stage was interrupted.
    """
    for event in result.all_events:
        if not event.is_step_failure:
            continue
        failure = event.step_failure_data
        kind = (failure.error.cls_name or "") if failure.error else ""
        if kind in INTERRUPTIONS:
            raise KeyboardInterrupt
        if kind == THE_GATE_SAYS_NO:
            continue
        name = (event.step_key or "").rpartition("__")[2]
        told = failure.user_failure_data
        if told is None and name in needed:
            raise RuntimeError(f"{name} failed: {failure.error.to_string() if failure.error else kind}")
        if told is not None and name in needed:
            raise (InvalidInput if "kind" in told.metadata else BenchError)(told.description or "a step failed")
        yield f"{name} was not made: {told.description if told else failure.error_display_string}"
