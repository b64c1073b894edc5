"""What makes two executions the same ask."""

import hashlib
import json

from bench_assets.contracts.base import dump_json
from bench_assets.contracts.plan import Plan

ALGORITHM = 1
"""Version of the algorithm below. Raised when it changes, so that old answers are not taken for new ones."""


class ExecutionIds:
    """Gives each execution of one plan its identity: 32 hex digits over the whole ask side.

    The benchmark's name, the question's id and text, the repetition, the environment, the way to the adapter, the
    kwargs, the agent's variables (names, and digests of what is no secret or given by the run) and the time limit. Not
    the golden, the rubric or the judge, which change a score and not an answer; and not the position in the file.
    """

    def __init__(self, plan: Plan) -> None:
        self._run = dump_json(
            {
                "algorithm": ALGORITHM,
                "benchmark": plan.benchmark.partition("@")[0],
                "environment": plan.environment.fingerprint,
                "connection": plan.environment.connection,
                "kwargs": plan.kwargs,
                "variables": sorted(plan.agent_env),
                "seen": [item.to_json() for item in plan.seen_env],
                "given": [item.to_json() for item in (*plan.variant_env, *plan.env_overrides)],
                "timeout_sec": plan.policy.timeout_sec,
            },
            sort_keys=True,
        )

    def of(self, *, question_id: str, question: str, repetition: int) -> str:
        """Return the identity of one execution."""
        ask = json.dumps([question_id, question, repetition]).encode()
        return hashlib.sha256(self._run + b"\n" + ask).hexdigest()[:32]
