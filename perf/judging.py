"""How much of an endpoint's time the judge leaves unused, and how fast verdicts are that were given before."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.judging.kept.stored import StoredVerdicts
from bench_assets.judging.scorer import JudgeItem, Scorer, open_scorer
from bench_assets.judging.settings import effective_judge
from bench_assets.storage.local import LocalStore
from perf.harness import Goal, Setting, Table, in_turns

AT_ONCE, SECONDS = 64, 0.2
REPLY_TIME = Path(__file__).with_name("endpoint.py")


def measure(setting: Setting) -> Iterator[Table]:
    """Yield the rate at a 200 ms endpoint beside a bare client's, and a re-judging from kept verdicts."""
    with _endpoint() as base_url:
        yield _rate(setting, base_url, answers=128 if setting.quick else 1000)
        yield _kept(setting, base_url, answers=500 if setting.quick else 10_000)


def _rate(setting: Setting, base_url: str, *, answers: int) -> Table:
    ideal = AT_ONCE / SECONDS
    works: list[float] = []
    with _scorer(setting.folder / "rate", base_url) as scorer:
        _judge(scorer, "warm", AT_ONCE)  # imports, connections
        numbers = iter(range(1_000_000))

        def ours() -> float:
            work = time.process_time()
            took = _judge(scorer, f"round {next(numbers)}", answers)
            works.append((time.process_time() - work) / answers * 1000)
            return answers / took

        pair = in_turns(ours, lambda: _bare(base_url, answers), rounds=setting.rounds)
    rate, bare = pair.medians
    return Table(
        title=f"{answers:,} judgements, {AT_ONCE} at a time, an endpoint that takes {SECONDS * 1000:.0f} ms",
        columns=["what", "verdicts a second", "of the ideal", "CPU ms a verdict"],
        rows=[
            ["ideal: 64 / 200 ms", ideal, 1.0, None],
            ["sockets that only write a request and read a reply", bare, bare / ideal, None],
            ["the judge, verdicts on disk", rate, rate / ideal, statistics.median(works)],
        ],
        goals=[Goal(text="at least 90 % of the ideal rate", value=100 * rate / ideal, at_least=90.0, unit="%")],
        notes=[
            f"Judge beside the bare sockets, least and greatest of the rounds: {pair.spread}. The endpoint stands for "
            "another machine, so it has one core for itself, and the judge and the sockets have the others."
        ],
    )


def _kept(setting: Setting, base_url: str, *, answers: int) -> Table:
    place = setting.folder / "kept"
    with _scorer(place, base_url, concurrency=512) as scorer:
        setting.note(f"judging {answers:,} answers once, so that they are kept")
        _judge(scorer, "kept", answers)
    took = []
    for _ in range(setting.rounds):
        with _scorer(place, base_url) as scorer:  # a fresh one, which reads them from disk
            took.append(_judge(scorer, "kept", answers, cached=True))
    middle = statistics.median(took)
    return Table(
        title="A re-judging whose verdicts are all kept",
        columns=["answers", "seconds", "answers a second", "calls to the endpoint"],
        rows=[[answers, middle, answers / middle, 0]],
        goals=[Goal(text=f"{answers:,} answers in under 5 s", value=middle, at_most=5.0, unit="s")],
    )


def _judge(scorer: Scorer, name: str, count: int, *, cached: bool = False) -> float:
    """Have so many different answers judged; return the seconds. Raises RuntimeError for a wrong verdict."""
    items = (
        JudgeItem(execution_id=f"{n}", question="Capital of France?", golden="Paris", answer=f"Paris, {name} {n}")
        for n in range(count)
    )
    began = time.perf_counter()
    for _, verdict in scorer.score(items):
        if verdict.label != "correct" or verdict.cached != cached:
            raise RuntimeError(f"A verdict is not what the endpoint gave: {verdict}")
    return time.perf_counter() - began


@contextmanager
def _scorer(place: Path, base_url: str, *, concurrency: int = AT_ONCE) -> Iterator[Scorer]:
    spec = JudgeSpec(type="llm", model="m", base_url=base_url, concurrency=concurrency)
    judge = effective_judge(spec, environ={"OPENAI_API_KEY": "none"})
    with StoredVerdicts(LocalStore(place)) as verdicts, open_scorer(judge, verdicts=verdicts) as scorer:
        yield scorer


def _bare(base_url: str, count: int) -> float:
    """Return the requests a second of connections that do nothing but ask, in a process of their own."""
    port = str(urlsplit(base_url).port)
    command = [sys.executable, str(REPLY_TIME), "ask", port, str(count), str(AT_ONCE)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@contextmanager
def _endpoint() -> Iterator[str]:
    """An endpoint that stands for another machine: a process of its own, with a core of its own where there are two."""
    command = [sys.executable, str(REPLY_TIME), "serve", str(SECONDS)]
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as endpoint:
        try:
            if len(cores) > 1:
                os.sched_setaffinity(endpoint.pid, {max(cores)})
                os.sched_setaffinity(0, cores - {max(cores)})
            assert endpoint.stdout is not None
            yield f"http://127.0.0.1:{int(endpoint.stdout.readline())}/v1"
        finally:
            endpoint.kill()
