"""How much of an endpoint's time the judge leaves unused: 1,000 answers, 64 at a time, 200 ms each.

`make bench` runs it. The ideal is 64 / 200 ms, 320 verdicts a second. Prints each of three rounds and the best one; its
exit code is 1 when that is below 90 % of the ideal. Anything else that runs on the machine counts against it.
"""

import subprocess
import sys
import tempfile
from time import monotonic, process_time

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.judging.kept.stored import StoredVerdicts
from bench_assets.judging.scorer import JudgeItem, Scorer, open_scorer
from bench_assets.judging.settings import effective_judge
from bench_assets.storage.local import LocalStore

ANSWERS, AT_ONCE, SECONDS, LEAST = 1000, 64, 0.2, 0.9
IDEAL = ANSWERS * SECONDS / AT_ONCE

ENDPOINT = """
import asyncio, json, sys

CONTENT = json.dumps({"reason": "the same city", "label": "correct"})
BODY = json.dumps({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": CONTENT}}]})
REPLY = f"HTTP/1.1 200 OK\\r\\nContent-Length: {len(BODY)}\\r\\n\\r\\n{BODY}".encode()

async def serve(reader, writer):
    while head := await reader.readuntil(b"\\r\\n\\r\\n"):
        length = next(line for line in head.lower().split(b"\\r\\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        await asyncio.sleep(float(sys.argv[1]))
        writer.write(REPLY)

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
"""In a process of its own, so that it does not compete with the judge for one interpreter."""


def main() -> int:
    """Measure, print, and say whether it was fast enough."""
    command = [sys.executable, "-c", ENDPOINT, str(SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as endpoint:
        try:
            assert endpoint.stdout is not None
            best = measure(f"http://127.0.0.1:{int(endpoint.stdout.readline())}/v1")
        finally:
            endpoint.kill()
    sys.stdout.write(f"judging: {best:.1%} of the ideal rate, at least {LEAST:.0%} is asked for\n")
    return int(best < LEAST)


def measure(base_url: str) -> float:
    """Return the best share of the ideal rate in three rounds."""
    spec = JudgeSpec(type="llm", model="m", base_url=base_url, concurrency=AT_ONCE)
    judge = effective_judge(spec, environ={"OPENAI_API_KEY": "none"})
    with (
        tempfile.TemporaryDirectory() as folder,
        StoredVerdicts(LocalStore(folder)) as verdicts,
        open_scorer(judge, verdicts=verdicts) as scorer,
    ):
        judged(scorer, "warm", AT_ONCE)  # imports, connections
        return max(one_round(scorer, f"round {number}") for number in (1, 2, 3))


def one_round(scorer: Scorer, name: str) -> float:
    """Return the share of the ideal rate of one round."""
    began, worked = monotonic(), process_time()
    judged(scorer, name, ANSWERS)
    took, work = monotonic() - began, process_time() - worked
    sys.stdout.write(f"{name}: {ANSWERS / took:.0f} verdicts a second, {work / ANSWERS * 1000:.2f} ms of work each\n")
    return IDEAL / took


def judged(scorer: Scorer, name: str, count: int) -> None:
    """Have so many different answers judged."""
    items = (
        JudgeItem(execution_id=f"{n}", question="Capital of France?", golden="Paris", answer=f"Paris, {name} {n}")
        for n in range(count)
    )
    assert all(verdict.label == "correct" for _, verdict in scorer.score(items))


if __name__ == "__main__":
    sys.exit(main())
