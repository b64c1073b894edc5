"""Many pods on paper: a simulation held against eight real processes, and what it says of 10 million executions."""

import math
import os
import resource
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen

import dagster as dg
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from bench_assets.analysis.metrics import summarize
from bench_assets.contracts.score import Verdict
from bench_assets.judging.kept.lines import write_line
from bench_assets.stages.records import AnswerFile, ScoreFile
from bench_assets.stages.rows import store_rows
from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.database import Database
from perf.evaluation import CANDIDATE, Evaluation
from perf.harness import Goal, Setting, Table
from perf.simulation import Costs, Outcome, Setup, simulate
from perf.storage import made_run, some_workspace
from tests.deployment.machines import DAGSTER_YAML, Machine
from tests.services.postgres import new_database
from tests.services.seaweed import S3Endpoint, running_seaweed
from tests.storage.records import RUN_ID

ROOT = Path(__file__).parent.parent

PROCESSES = 8
AT_ONCE = 4
"""Questions in flight of each process."""
PAUSE, SPREAD = 0.05, 0.5
"""An answer takes 50 ms on average, evenly between 25 and 75 ms."""
TIMEOUT_SEC = 900

AGENT = f"""\
import asyncio
import hashlib

class Agent:
    async def run(self, question):
        place = int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big") / 2**32
        await asyncio.sleep({PAUSE} * (1 + {SPREAD} * (2 * place - 1)))
        return question.upper()

def make_agent():
    return Agent()
"""

COUNTING = """\
import http.client
import os

port, log = int(os.environ["COUNTED_PORT"]), os.environ["COUNTED_LOG"]
send = http.client.HTTPConnection.putrequest

def counted(self, method, url, *given, **named):
    if self.port == port:
        kind = "LIST" if "list-type=" in url else method
        with open(log, "a") as file:
            file.write(kind + "\\n")
    return send(self, method, url, *given, **named)

http.client.HTTPConnection.putrequest = counted
"""
"""`sitecustomize` of the measured processes: notes each request to S3."""


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Assumptions, in USD; set your own."""

    put_1000: float = 0.005
    """PUT and LIST, a thousand."""
    get_1000: float = 0.0004
    """GET and HEAD, a thousand. DELETE costs nothing."""
    pod_hour: float = 0.05
    """One core and 2 GiB."""
    postgres_hour: float = 0.40
    """Four cores, for both databases."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Assumptions on what else is there."""

    put_rate: float = 3500.0
    """Writes a second to one prefix of S3, as AWS states it."""
    provider_rate: float = 1000.0
    """Questions a second that the agents' provider takes."""
    pod_gib: float = 2.0
    """Memory of a pod."""


def measure(setting: Setting) -> Iterator[Table]:
    """Yield the simulation beside the real run, the constants, and the large run on paper."""
    rounds = [_Round(setting, number).measured() for number in range(1 if setting.quick else setting.rounds)]
    costs = _median_costs([one.costs for one in rounds])
    yield _agreement(rounds)
    yield _constants(costs)
    yield from on_paper(costs)


# --- the real run


@dataclass(frozen=True, kw_only=True)
class Used:
    """What some processes took, and what else was done for them."""

    wall: float
    cpu: float
    """Of the processes, their children, S3 and Postgres."""
    postgres: float
    """The part of it that Postgres used."""
    cores: float
    """What other programs left of this machine meanwhile."""
    requests: Counter[str]
    events: int

    @property
    def wait(self) -> float:
        """Seconds of one process in which it waited for something other than the processor."""
        return max(0.0, self.wall - self.cpu / min(1.0, self.cores))


class _Services:
    """One S3 and one Postgres, with a database for Dagster and one for rows, and how to count what they do."""

    def __init__(self, folder: Path, s3: S3Endpoint, server: Database, dagsters: str, ours: str) -> None:
        self.folder = folder
        self.s3 = s3
        self.dagsters = dagsters
        self.ours = ours
        self._postmaster = int((folder / "postgres/data/postmaster.pid").read_text(encoding="utf-8").split()[0])
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(COUNTING, encoding="utf-8")
        self.log = folder / "requests"
        self.server = server

    @property
    def variables(self) -> dict[str, str]:
        """Of every process of the evaluation."""
        return {
            **self.s3.environment,
            "DAGSTER_POSTGRES_URL": self.dagsters.replace("postgresql://", "postgresql+psycopg2://"),
            "BENCH_POSTGRES_URL": self.ours,
        }

    @property
    def counting(self) -> dict[str, str]:
        """Of the processes that are measured."""
        port = self.s3.url.rpartition(":")[2]
        return {
            "PYTHONPATH": os.pathsep.join((str(self.folder / "site"), str(ROOT))),
            "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
            "COUNTED_PORT": port,
            "COUNTED_LOG": str(self.log),
        }

    def events(self) -> int:
        """Return how many events Dagster has stored."""
        return _scalar(self.dagsters, "SELECT count(*) FROM event_logs")

    def rows(self) -> int:
        """Return how many rows of executions there are."""
        return _scalar(self.ours, "SELECT count(*) FROM executions")

    def cpu(self) -> tuple[float, float]:
        """Return the seconds that S3 and Postgres have used."""
        return _cpu_of(self.s3.process.pid), _cpu_of(self._postmaster)

    def watched(self, processes: list["Popen[str]"], began: float, before: "_Before") -> Used:
        """Wait for processes that began at `began`. Raises RuntimeError when one fails."""
        try:
            for process in processes:
                said, _ = process.communicate(timeout=TIMEOUT_SEC)
                if process.returncode:
                    raise RuntimeError(f"A process of the real run failed:\n{said[-3000:]}")
        finally:
            for process in processes:
                process.kill()  # nothing, unless another one has failed
        wall = time.perf_counter() - began
        s3, postgres = (now - then for now, then in zip(self.cpu(), before.services, strict=True))
        children = _children() - before.children
        ours = children + s3 + postgres
        others = max(0.0, _busy() - before.busy - ours - (_own() - before.own))
        noted = self.log.read_text(encoding="utf-8").split() if self.log.exists() else []
        return Used(
            wall=wall,
            cpu=ours,
            postgres=postgres,
            cores=max(0.1, len(os.sched_getaffinity(0)) - others / wall),
            requests=Counter(noted) - before.requests,
            events=self.events() - before.events,
        )

    def before(self) -> "_Before":
        """Return how things stand."""
        noted = self.log.read_text(encoding="utf-8").split() if self.log.exists() else []
        return _Before(
            services=self.cpu(),
            children=_children(),
            own=_own(),
            busy=_busy(),
            requests=Counter(noted),
            events=self.events(),
        )


@dataclass(frozen=True, kw_only=True)
class _Before:
    services: tuple[float, float]
    children: float
    own: float
    busy: float
    requests: Counter[str]
    events: int


@contextmanager
def _services(folder: Path) -> Iterator[_Services]:
    (folder / "weed").mkdir(parents=True)
    with ExitStack() as opened:
        s3 = opened.enter_context(running_seaweed(folder / "weed"))
        server = opened.enter_context(Database.open(None, embedded_root=folder / "postgres"))
        dagsters, ours = (opened.enter_context(new_database(server.url)) for _ in range(2))
        with Database.open(ours, embedded_root=folder) as tables:
            tables.upgrade()
        yield _Services(folder, s3, server, dagsters, ours)


class _Project:
    """A project with its environment built and its plan made, ready for machines."""

    def __init__(self, services: _Services, name: str, *, questions: int, shards: int) -> None:
        self.questions, self.shards = questions, shards
        self._services = services
        self._folder = services.folder / name
        self.evaluation = Evaluation(
            self._folder / "project",
            questions=questions,
            shards=shards,
            storage=f"s3://{services.s3.bucket}/{name}",
            settings=f"parallelism: 1\nconcurrency: {AT_ONCE}\n",
            variables=services.variables,
            agent=AGENT,
        )
        home = self._folder / "project" / "dagster_home"
        (home / "dagster.yaml").write_text(DAGSTER_YAML, encoding="utf-8")
        before = dict(os.environ)
        os.environ.update(self.evaluation.project.environ)
        try:
            with (
                dg.DagsterInstance.from_config(str(home)) as instance,
                self.evaluation.opened(instance) as opened,
            ):
                opened.materialize("agent_environment")
                opened.materialize("plan")
        finally:
            os.environ.clear()
            os.environ.update(before)
        shutil.rmtree(self._folder / "project" / "agent")  # only the store has it now

    def machine(self, number: int) -> Machine:
        """Return a new machine, with an empty home and cache."""
        folder = self._folder / f"machine-{number}"
        variables = {**self.evaluation.project.variables, **self._services.counting}
        return Machine(folder, self.evaluation.project, variables)

    def answered(self, shards: dict[int, Machine]) -> Used:
        """Have machines answer and score a shard each, all at once."""
        before, began = self._services.before(), time.perf_counter()
        pods = [
            machine.materialize("answers", "scores", partition=f"{CANDIDATE}|{shard:03d}")
            for shard, machine in shards.items()
        ]
        return self._services.watched(pods, began, before)

    def finished(self, machine: Machine) -> Used:
        """Have a machine sum up and store the rows."""
        before, began = self._services.before(), time.perf_counter()
        pods = [machine.materialize("summary", "result_rows", partition=CANDIDATE)]
        return self._services.watched(pods, began, before)


@dataclass(frozen=True, kw_only=True)
class _Measured:
    costs: Costs
    simulated: Outcome
    answered: Used
    finished: Used
    rows: int
    setup: Setup


class _Round:
    """One calibration with single processes, and one real run."""

    def __init__(self, setting: Setting, number: int) -> None:
        self._setting = setting
        self._folder = setting.folder / f"round-{number}"
        self._number = number

    def measured(self) -> _Measured:
        few, more = (8, 40) if self._setting.quick else (16, 800)
        questions = 160 if self._setting.quick else 9600
        with _services(self._folder) as services:
            self._setting.note(f"round {self._number + 1}: one process at a time")
            costs = self._costs(services, few, more)
            self._setting.note(f"round {self._number + 1}: {PROCESSES} processes, {questions:,} questions")
            project = _Project(services, "real", questions=questions, shards=PROCESSES)
            machines = {shard: project.machine(shard) for shard in range(PROCESSES)}
            rows = services.rows()
            answered = project.answered(machines)
            finished = project.finished(machines[0])
            rows = services.rows() - rows
        setup = Setup(
            executions=questions,
            shards=PROCESSES,
            pods=PROCESSES,
            at_once=AT_ONCE,
            answer_sec=PAUSE,
            answer_spread=SPREAD,
            cores=(answered.cores * answered.wall + finished.cores * finished.wall) / (answered.wall + finished.wall),
        )
        return _Measured(
            costs=costs,
            simulated=simulate(setup, costs, seed=self._number),
            answered=answered,
            finished=finished,
            rows=rows,
            setup=setup,
        )

    def _costs(self, services: _Services, few: int, more: int) -> Costs:
        small = _Project(services, "small", questions=3 * few, shards=3)
        # Not measured: it compiles the modules, as the building of an image does.
        small.answered({2: small.machine(2)})
        machine = small.machine(0)
        cold, warm = small.answered({0: machine}), small.answered({1: machine})
        small_end = small.finished(machine)
        large = _Project(services, "large", questions=more, shards=1)
        machine = large.machine(0)
        many = large.answered({0: machine})
        large_end = large.finished(machine)
        event_cpu = cold.postgres / cold.events
        question_cpu = max(1e-5, (many.cpu - cold.cpu) / (more - few))
        summary_cpu, row_cpu, row_postgres_cpu = _per_execution(self._folder, quick=self._setting.quick)
        start_cpu = warm.cpu - few * question_cpu - warm.events * event_cpu
        asking = _asking_sec(few)
        # Listings do not grow with the shards; the two runs differ in them, as a single shard is looked up without.
        per_shard = Counter({"GET": (small_end.requests["GET"] - large_end.requests["GET"]) // 2})
        last = min(small_end, large_end, key=lambda used: used.cpu)
        return Costs(
            start_cpu=start_cpu,
            start_wait=max(0.0, warm.wait - asking),
            restore_cpu=max(0.0, cold.cpu - warm.cpu),
            restore_wait=max(0.0, cold.wait - warm.wait),
            question_cpu=question_cpu,
            put_wait=_put_sec(services),
            event_cpu=event_cpu,
            events_per_run=cold.events,
            events_per_shard=0,
            finish_cpu=last.cpu - last.events * event_cpu - 3 * few * (summary_cpu + row_cpu + row_postgres_cpu),
            finish_wait=last.wait,
            finish_events=last.events,
            summary_cpu=summary_cpu,
            row_cpu=row_cpu,
            row_postgres_cpu=row_postgres_cpu,
            requests_per_shard=cold.requests - _journal_requests(few),
            finish_requests=small_end.requests - Counter({"GET": 3 * per_shard["GET"]}),
            finish_requests_per_shard=per_shard,
        )


def _put_sec(services: _Services) -> float:
    """Return the seconds from a segment's PUT to its reply, as measured here; S3 elsewhere takes 10 to 50 ms."""
    client = services.s3.client()
    took = []
    for number in range(30):
        began = time.perf_counter()
        client.put_object(Bucket=services.s3.bucket, Key=f"put/{number}", Body=b"x" * 40_000)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _asking_sec(questions: int) -> float:
    return math.ceil(questions / AT_ONCE) * PAUSE


def _journal_requests(questions: int) -> Counter[str]:
    """Return what a small shard's journal asks of S3: its segments."""
    return Counter({"PUT": math.ceil(questions / 50)})


def _per_execution(folder: Path, *, quick: bool) -> tuple[float, float, float]:
    """Return the CPU seconds of summing up one execution, of making its row, and of storing that."""
    count = 500 if quick else 20_000
    workspace = some_workspace(folder / "rows")
    made_run(workspace, count)
    began = time.process_time()
    answers = AnswerFile(workspace.store, f"runs/{RUN_ID}/answers.jsonl")
    scores = ScoreFile(workspace.store, f"runs/{RUN_ID}/scores.jsonl")
    summarize(zip(answers, scores, strict=True), questions=count, repetitions=1, partial=False)
    summary = (time.process_time() - began) / count
    with Database.open(None, embedded_root=workspace.postgres_folder) as database:
        database.upgrade()
        pid = int((workspace.postgres_folder / "data/postmaster.pid").read_text(encoding="utf-8").split()[0])
        before, began = _cpu_of(pid), time.process_time()
        store_rows(workspace, RUN_ID)
        made = (time.process_time() - began) / count
        stored = (_cpu_of(pid) - before) / count
    return summary, made, stored


def _median_costs(found: list[Costs]) -> Costs:
    numbers = {
        name: statistics.median(getattr(costs, name) for costs in found)
        for name, value in vars(found[0]).items()
        if isinstance(value, float)
    }
    return replace(found[-1], **numbers)


def _scalar(url: str, query: str) -> int:
    engine = create_engine(parse_url(url), poolclass=NullPool)
    with engine.connect() as connection:
        return int(connection.scalar(text(query)) or 0)


def _cpu_of(root: int) -> float:
    """Return the CPU seconds of a process, of those that it started, and of those that have ended."""
    parents: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:  # gone meanwhile
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
            used[int(entry.name)] = sum(int(field) for field in fields[11:15])
    total, left = 0, [root]
    while left:
        process = left.pop()
        total += used.get(process, 0)
        left += parents.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _own() -> float:
    return time.process_time()


def _busy() -> float:
    """Return the seconds that all cores of this machine have worked."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


# --- tables


def _agreement(rounds: list[_Measured]) -> Table:
    first = rounds[0]
    table = Table(
        title=f"The simulation beside {PROCESSES} real processes: {first.setup.executions:,} questions of 25–75 ms, "
        f"{AT_ONCE} in flight a process, one S3, one Postgres",
        columns=["what", "simulated", "measured", "simulated / measured", "least – greatest"],
        notes=[
            "Each process has a home and a cache of its own: it starts, restores the environment from the store, asks, "
            "keeps its journal on S3, scores, and logs to Dagster's Postgres; then one more sums up and stores rows. "
            "The constants come from single processes of the same round, with few questions and with many. The "
            "cores that other programs used at the time of the real run are taken from the simulated machine."
        ],
    )

    def row(what: str, simulated: list[float], measured: list[float]) -> float:
        ratios = [one / other for one, other in zip(simulated, measured, strict=True)]
        ratio = statistics.median(ratios)
        spread = f"{min(ratios):.2f} – {max(ratios):.2f}"
        table.rows.append([what, statistics.median(simulated), statistics.median(measured), ratio, spread])
        return ratio

    row(
        "seconds until all answers are scored",
        [one.simulated.answers_seconds for one in rounds],
        [one.answered.wall for one in rounds],
    )
    whole = row(
        "seconds until the rows are stored",
        [one.simulated.seconds for one in rounds],
        [one.answered.wall + one.finished.wall for one in rounds],
    )
    row(
        "CPU seconds",
        [one.simulated.cpu_seconds for one in rounds],
        [one.answered.cpu + one.finished.cpu for one in rounds],
    )
    requests = [one.answered.requests + one.finished.requests for one in rounds]
    for kind in ("PUT", "GET"):
        row(
            f"{kind} requests",
            [float(one.simulated.requests[kind]) for one in rounds],
            [float(found[kind]) for found in requests],
        )
    row(
        "all requests to S3",
        [float(one.simulated.requests.total()) for one in rounds],
        [float(found.total()) for found in requests],
    )
    row("rows", [float(one.simulated.rows) for one in rounds], [float(one.rows) for one in rounds])
    row(
        "events in Dagster",
        [float(one.simulated.events) for one in rounds],
        [float(one.answered.events + one.finished.events) for one in rounds],
    )
    table.goals.append(
        Goal(
            text="the simulated time within 20 % of the real one", value=whole, at_least=0.8, at_most=1.2, unit="of it"
        )
    )
    return table


def _constants(costs: Costs) -> Table:
    return Table(
        title="What the simulation takes from single processes",
        columns=["what", "CPU", "waiting"],
        rows=[
            ["start of a pod's process", _time(costs.start_cpu), _time(costs.start_wait)],
            ["restoring the environment on a new machine", _time(costs.restore_cpu), _time(costs.restore_wait)],
            ["one question: asked, journalled, recorded, scored", _time(costs.question_cpu), "–"],
            ["one event, in Dagster's Postgres", _time(costs.event_cpu), "–"],
            ["the last process: start, and all that does not grow", _time(costs.finish_cpu), _time(costs.finish_wait)],
            ["summing up one execution", _time(costs.summary_cpu), "–"],
            ["one row: made", _time(costs.row_cpu), "–"],
            ["one row: stored, in our Postgres", _time(costs.row_postgres_cpu), "–"],
            ["a segment's PUT, to the S3 server on this machine", "–", _time(costs.put_wait)],
        ],
        notes=[
            f"A pod's run logs {costs.events_per_run} events for its shard; the last run logs {costs.finish_events}. "
            f"Beside its journal a shard asks S3 for {_requests(costs.requests_per_shard)}; the last run for "
            f"{_requests(costs.finish_requests)}, and for {_requests(costs.finish_requests_per_shard)} a shard."
        ],
    )


def _requests(found: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in found.most_common()) or "nothing"


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.1f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.1f} µs"


# --- on paper

LARGE = Setup(
    executions=10_000_000,
    shards=1000,
    pods=500,
    at_once=16,
    answer_sec=2.0,
    answer_spread=0.5,
    launch_sec=0.2,
    pod_start_sec=10.0,
    grain=25,
)
"""The large run: 10 million executions over 500 pods. Its last four figures are assumptions."""


def on_paper(costs: Costs, *, prices: Prices | None = None, limits: Limits | None = None) -> Iterator[Table]:
    """Yield what a large run costs, what limits it, and how its shards are chosen."""
    prices, limits = prices or Prices(), limits or Limits()
    free = simulate(LARGE, costs)
    bound = simulate(replace(LARGE, provider_rate=limits.provider_rate), costs)
    judged = simulate(replace(LARGE, judge_calls=1, judge_sec=1.0, judge_at_once=64), costs)
    yield _bill(
        {"no limit anywhere": free, "the agents' provider limits": bound, "an LLM judge": judged}, prices, limits
    )
    yield _limits(free, costs, limits)
    yield _shards(costs)


def _bill(found: dict[str, Outcome], prices: Prices, limits: Limits) -> Table:
    table = Table(
        title=f"{LARGE.executions:,} executions over {LARGE.pods} pods, on paper",
        columns=["what", *found],
        notes=[
            f"Assumed: an answer takes {LARGE.answer_sec:g} s, {LARGE.at_once} in flight a pod; {LARGE.shards:,} "
            f"shards of one Dagster run each; a pod needs {LARGE.pod_start_sec:g} s to start, and the queue lets one "
            f"go every {LARGE.launch_sec:g} s. A matcher judges; in the last column an LLM does, 64 calls of 1 s at "
            f"once a pod. Where the provider limits, it takes {limits.provider_rate:,.0f} questions a second.",
            f"Prices in USD, assumed as well: {prices.put_1000:g} for 1,000 PUT or LIST, {prices.get_1000:g} for 1,000 "
            f"GET or HEAD, {prices.pod_hour:g} a pod and hour, {prices.postgres_hour:g} an hour of Postgres. What the "
            "model costs is yours.",
        ],
    )
    for what, read in (
        ("hours until all answers are scored", lambda o: o.answers_seconds / 3600),
        ("hours of summary and rows, one process", lambda o: (o.seconds - o.answers_seconds) / 3600),
        ("pod hours", lambda o: o.pod_seconds / 3600),
        ("PUT requests", lambda o: o.requests["PUT"]),
        ("GET, HEAD and LIST requests", lambda o: o.requests["GET"] + o.requests["HEAD"] + o.requests["LIST"]),
        ("rows", lambda o: o.rows),
        ("events in Dagster", lambda o: o.events),
        ("USD, S3", lambda o: _s3_usd(o, prices)),
        ("USD, pods", lambda o: o.pod_seconds / 3600 * prices.pod_hour),
        ("USD, Postgres", lambda o: o.seconds / 3600 * prices.postgres_hour),
    ):
        table.rows.append([what, *(read(outcome) for outcome in found.values())])
    return table


def _s3_usd(outcome: Outcome, prices: Prices) -> float:
    found = outcome.requests
    written, read = found["PUT"] + found["LIST"], found["GET"] + found["HEAD"]
    return written / 1000 * prices.put_1000 + read / 1000 * prices.get_1000


def _limits(free: Outcome, costs: Costs, limits: Limits) -> Table:
    """Return how near each part is to its limit, the nearest first."""
    # The grain makes questions and segments come in clumps of many seconds; events do not depend on it.
    questions, puts = free.peak("questions", over=300), free.peak("PUT", over=300)
    events = free.peak("events")
    found: list[tuple[str, float, float, str]] = [
        ("the agents' provider, questions/s", questions, limits.provider_rate, "assumed"),
        ("S3, PUT/s under one prefix", puts, limits.put_rate, "stated by AWS"),
        ("Dagster's Postgres, events/s", events, LARGE.postgres_cores / costs.event_cpu, "measured, times its cores"),
        (
            "a pod's process, questions/s",
            questions / LARGE.pods,
            LARGE.pod_cores / costs.question_cpu,
            "measured",
        ),
        (
            "one process that sums up, of the answers' time",
            LARGE.executions * costs.summary_cpu,
            free.answers_seconds,
            "measured",
        ),
        (
            "one process that stores rows, of the answers' time",
            LARGE.executions * max(costs.row_cpu, costs.row_postgres_cpu),
            free.answers_seconds,
            "measured",
        ),
    ]
    kept = LARGE.executions * _verdict_bytes() / 2**30
    found.append(
        ("kept verdicts that a pod reads at its start, GiB: with an LLM judge", kept, limits.pod_gib, "assumed")
    )
    found.sort(key=lambda one: one[1] / one[2], reverse=True)
    return Table(
        title="Which limit comes first, in the large run without a limit at the provider",
        columns=["what", "asked for at the peak", "limit", "share", "the limit is"],
        rows=[[what, asked, limit, asked / limit, where] for what, asked, limit, where in found],
        notes=[
            "A share above 1 binds: the run then takes as long as that part needs. Summary and rows come after the "
            "answers, so theirs is what they add to the time."
        ],
    )


def _verdict_bytes() -> int:
    """Return the bytes of one kept verdict with a reason of one sentence."""
    verdict = Verdict(label="correct", reason="The answer names the same city as the reference.", calls=1)
    return len(write_line("0" * 64, verdict, at="2026-01-01T00:00:00.000000+00:00").raw) + 1


def _shards(costs: Costs) -> Table:
    """Return the time of a run by its number of shards."""
    table = Table(
        title="How the number of shards tells, on paper: executions of 2 s, 16 in flight a pod",
        columns=["executions", "pods at once", *(f"{shards} shards" for shards in (8, 32, 128, 500, 1000))],
        notes=[
            "Minutes until all answers are scored. A shard is a pod of its own here; with fewer shards than pods some "
            "pods have nothing to do, and with many more each pays for its start, its environment and its events."
        ],
    )
    for executions, pods in ((1000, 8), (10_000, 8), (100_000, 32), (1_000_000, 128), (10_000_000, 500)):
        minutes = []
        for shards in (8, 32, 128, 500, 1000):
            each = executions // (shards * LARGE.at_once)
            setup = replace(LARGE, executions=executions, pods=pods, shards=shards, grain=max(1, each // 20))
            minutes.append(simulate(setup, costs).answers_seconds / 60)
        table.rows.append([executions, pods, *minutes])
    return table
