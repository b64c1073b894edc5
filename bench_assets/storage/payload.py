"""What makes two results of one run the same result, in files as in rows.

When and where a run was made is not part of it, nor what its judge cost: materializing again must change nothing. What
was planned, what the agent and the judge said they are, and every answer and score are.
"""

from typing import Literal

from bench_assets.contracts.base import JsonValue, clean_json
from bench_assets.contracts.plan import RunStatus
from bench_assets.contracts.run import RunRecord

Stored = Literal["stored", "unchanged", "continued"]
"""What storing a run did: its result is new, was there already, or replaced that of its unfinished beginning."""

VOLATILE_SCORE_FIELDS = ("cached", "calls", "usage", "replies")
"""What may differ between two scores of the same content: a verdict from the cache costs no requests and no tokens."""


def run_payload(run: RunRecord) -> JsonValue:
    """Return the part of `run.json` that two equal results have in common."""
    return {
        "run_id": run.run_id,
        "plan_identity": run.plan_identity,
        "status": run.status,
        "describe": clean_json(run.describe),
        "judge": run.judge_identity.digest if run.judge_identity else None,
    }


def summary_payload(summary: JsonValue) -> JsonValue:
    """Return the part of `summary.json` that two equal results have in common: all but what the judging cost."""
    return {name: value for name, value in summary.items() if name != "judging"}


def is_open(status: RunStatus | str, *, errors: int, judged: bool) -> bool:
    """Return whether going on with a run could add to it: something failed, is missing, or waits for its judge."""
    return status != "finished" or errors > 0 or not judged
