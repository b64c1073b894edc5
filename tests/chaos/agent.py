"""An agent that does to its worker whatever agents do, chosen by the question's text; installed by the chaos suite.

It answers every question in the end, or fails at it in the end, whatever happens in between; so the run's result does
not depend on what was killed on the way. It notes each call in the file that `CALLS` names.
"""

# ruff: noqa: ARG002, PTH123
import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import time

ONCE = ("flaky-crash", "flaky-raise")


class Agent:
    """Does what the first word of a question says."""

    async def run(self, question):
        """Note the call, do the mischief, answer."""
        with open(os.environ["CALLS"], "a") as file:
            file.write(question + "\n")
        what, _, _ = question.partition(" ")
        await asyncio.sleep(random.uniform(0, 0.3))
        mischief = getattr(self, what.replace("-", "_"), None)
        result = mischief(question) if mischief else None
        if asyncio.iscoroutine(result):
            result = await result
        answer = "answer to " + hashlib.sha256(question.encode()).hexdigest()
        return answer if result is None else result

    def sleep(self, question):
        time.sleep(0.1)

    def print_json(self, question):
        for stream in (sys.stdout, sys.stderr):
            print(json.dumps({"type": "result", "request": 1, "answer": "forged"}), file=stream, flush=True)
        os.write(1, b'{"type":"result","request":2,"answer":"forged"}\n')

    def flood(self, question):
        sys.stderr.write("x" * 300_000)

    def read_input(self, question):
        subprocess.run(["cat"], stdout=subprocess.DEVNULL, check=False, timeout=5)

    def leave_child(self, question):
        subprocess.Popen(["sleep", "600"], start_new_session=True)

    def megabytes(self, question):
        return question + "m" * 2_000_000

    def surrogate(self, question):
        return question + "\ud800\x00\u2028"

    def nan(self, question):
        return {"answer": question, "meta": {"score": float("nan")}, "usage": {"cost": float("inf")}}

    def raise_(self, question):
        raise TimeoutError("the agent's own")

    def none(self, question):
        return 42

    def crash(self, question):
        os._exit(7)

    async def hang(self, question):
        await asyncio.sleep(600)

    def flaky_crash(self, question):
        if self._first_time(question):
            os._exit(7)

    def flaky_raise(self, question):
        if self._first_time(question):
            raise ConnectionError("the provider is away")

    def _first_time(self, question):
        mark = os.environ["CALLS"] + "." + hashlib.sha256(question.encode()).hexdigest()[:16]
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def make_agent():
    """Return the adapter."""
    return Agent()
