"""A run over many pods, simulated event by event. Touches no network, no disk and no clock.

`simulate` runs one evaluation: a queue of Dagster runs, each a pod that starts, restores its environment, asks, keeps a
journal, judges and logs events, and then one more run that sums up and stores the rows.
"""

import math
import random
from collections import Counter
from dataclasses import dataclass, field

from perf.discrete_events import INSTANT, Cpu, Process, Rate, Resume, Simulation, Slots, Wait


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What each part costs, as measured. CPU is in seconds of one core; a wait is time without use of it."""

    start_cpu: float
    """A pod's process, from its start to the first line of its assets and from their last one to its end."""
    start_wait: float = 0.0
    restore_cpu: float = 0.0
    """The environment, on a machine that does not have it. With `restore_wait`, and the workers' start."""
    restore_wait: float = 0.0
    question_cpu: float
    """Asking, journal, record and score of one execution, with a matcher."""
    put_wait: float = 0.01
    """From a segment's PUT to its reply."""
    event_cpu: float = 0.0
    """One event in the Postgres of Dagster."""
    event_wait: float = 0.0
    """One event as the pod sees it, beside `event_cpu`."""
    events_per_run: int = 0
    """Of a Dagster run of `answers` and `scores`, beside its shards."""
    events_per_shard: int = 0
    finish_cpu: float = 0.0
    """The last run's process: start, summary and rows, without what grows with the executions."""
    finish_wait: float = 0.0
    finish_events: int = 0
    summary_cpu: float = 0.0
    """Reading, summing up and copying one execution."""
    row_cpu: float = 0.0
    """Making one row."""
    row_postgres_cpu: float = 0.0
    """Storing one row, in our Postgres."""
    requests_per_shard: Counter[str] = field(default_factory=Counter)
    """To S3, by kind, without the journal's segments and the lease's renewals."""
    finish_requests: Counter[str] = field(default_factory=Counter)
    """Of the last run, without those for each shard."""
    finish_requests_per_shard: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One evaluation, and where it runs."""

    executions: int
    shards: int
    pods: int
    """Dagster runs at once: the queue's limit."""
    shards_per_run: int = 1
    at_once: int = 1
    """Questions in flight a pod: parallelism times concurrency."""
    answer_sec: float = 1.0
    """An agent's time for a question, on average."""
    answer_spread: float = 0.0
    """Half the width of its even distribution, as a part of the average."""
    flush_every: int = 50
    provider_rate: float = math.inf
    """Questions a second that the agents' provider takes, over all pods."""
    judge_calls: int = 0
    """Requests an answer to the judge; 0 for a matcher."""
    judge_sec: float = 1.0
    judge_at_once: int = 16
    judge_rate: float = math.inf
    """Requests a second that the judge's provider takes, over all pods."""
    launch_sec: float = 0.0
    """Between two runs that the queue lets go."""
    pod_start_sec: float = 0.0
    """Until a pod's process starts: scheduling, image."""
    cores: float | None = None
    """Cores that all pods, Postgres and S3 share; None gives each pod `pod_cores` and Postgres `postgres_cores`."""
    pod_cores: float = 1.0
    postgres_cores: float = 4.0
    grain: int = 1
    """Questions that are simulated as one: they take their times' sum, one after the other."""


@dataclass(kw_only=True)
class Outcome:
    """What came of it."""

    seconds: float = 0.0
    answers_seconds: float = 0.0
    """Until the last pod has ended."""
    executions: int = 0
    """Settled."""
    events: int = 0
    rows: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    """To S3, by kind."""
    judge_requests: int = 0
    pod_seconds: float = 0.0
    """Of all pods together, from their scheduling to their end."""
    cpu_seconds: float = 0.0
    postgres_seconds: float = 0.0
    """Of Dagster's Postgres, for its events, until the last pod has ended."""
    per_second: dict[str, Counter[int]] = field(default_factory=dict)
    """Of `PUT`, `events` and `questions`: how many in each second."""

    def peak(self, what: str, *, over: int = 10) -> float:
        """Return the most a second, on average over the busiest `over` seconds."""
        found = self.per_second.get(what, Counter())
        tens: Counter[int] = Counter()
        for second, count in found.items():
            tens[second // over] += count
        return max(tens.values(), default=0) / over


SEGMENT_SEC = 2.0
"""A record waits at most so long for its segment; as in `execution/object_journal.py`."""

RENEWAL_SEC = 3.75
"""Between two renewals of a shard's lease; as in `execution/lease.py`."""


GATHER_SEC = 0.05
"""A first verdict waits so long for others to go out with; as in `judging/kept/stored.py`."""


def simulate(setup: Setup, costs: Costs, *, seed: int = 0) -> Outcome:
    """Run one evaluation."""
    return _Run(setup, costs, seed=seed).play()


class _Run:
    def __init__(self, setup: Setup, costs: Costs, *, seed: int) -> None:
        self.setup, self.costs = setup, costs
        self.random = random.Random(seed)
        self.sim = Simulation()
        self.queue = Slots(setup.pods)
        self.launches = Rate(self.sim, 1 / setup.launch_sec if setup.launch_sec else math.inf)
        self.provider = Rate(self.sim, setup.provider_rate)
        self.judge = Rate(self.sim, setup.judge_rate)
        self.machine = Cpu(self.sim, setup.cores) if setup.cores is not None else None
        self.postgres = self.machine or Cpu(self.sim, setup.postgres_cores)
        self.cpus = [self.machine] if self.machine else []
        self.outcome = Outcome(per_second={what: Counter() for what in ("PUT", "events", "questions")})

    def play(self) -> Outcome:
        self.sim.start(self._evaluation())
        outcome = self.outcome
        outcome.seconds = self.sim.run()
        outcome.cpu_seconds = sum(cpu.used for cpu in self.cpus)
        return outcome

    def _evaluation(self) -> Process:
        setup = self.setup
        groups = [
            range(first, min(first + setup.shards_per_run, setup.shards))
            for first in range(0, setup.shards, setup.shards_per_run)
        ]
        yield self.sim.all_of([self._pod(group) for group in groups])
        self.outcome.answers_seconds = self.sim.now
        self.outcome.postgres_seconds = 0.0 if self.machine else self.postgres.used
        yield from self._finish()

    def _cpu(self) -> Cpu:
        if self.machine is not None:
            return self.machine
        cpu = Cpu(self.sim, self.setup.pod_cores)
        self.cpus.append(cpu)
        return cpu

    def _pod(self, shards: range) -> Process:
        """One Dagster run of `answers` and `scores`."""
        setup, costs = self.setup, self.costs
        yield self.queue.take()
        yield self.launches.take()
        began = self.sim.now
        yield self.sim.wait(setup.pod_start_sec)
        cpu = self._cpu()
        yield cpu.work(costs.start_cpu)
        yield self.sim.wait(costs.start_wait)
        yield cpu.work(costs.restore_cpu)
        yield self.sim.wait(costs.restore_wait)
        for shard in shards:
            yield from _Shard(self, cpu, _share(setup.executions, setup.shards, shard)).process()
        yield from self.log(costs.events_per_run)
        self.outcome.pod_seconds += self.sim.now - began
        self.queue.give()

    def _finish(self) -> Process:
        """The Dagster run of `summary` and `result_rows`."""
        setup, costs = self.setup, self.costs
        began = self.sim.now
        yield self.sim.wait(setup.pod_start_sec)
        cpu = self._cpu()
        yield cpu.work(costs.finish_cpu)
        yield self.sim.wait(costs.finish_wait)
        yield cpu.work(setup.executions * costs.summary_cpu)
        # Rows are stored while the next ones are made, by a process each.
        yield self.sim.all_of(
            [
                _one(cpu.work(setup.executions * costs.row_cpu)),
                _one(self.postgres.work(setup.executions * costs.row_postgres_cpu)),
            ]
        )
        yield from self.log(costs.finish_events)
        self.count(costs.finish_requests)
        for kind, count in costs.finish_requests_per_shard.items():
            self.outcome.requests[kind] += count * setup.shards
        self.outcome.rows += setup.executions
        self.outcome.pod_seconds += self.sim.now - began

    def log(self, events: int) -> Process:
        """Store events, one after the other."""
        for _ in range(events):
            yield self.postgres.work(self.costs.event_cpu)
            yield self.sim.wait(self.costs.event_wait)
            self.note("events")
            self.outcome.events += 1

    def count(self, requests: Counter[str]) -> None:
        self.outcome.requests.update(requests)

    def note(self, what: str, count: int = 1) -> None:
        self.outcome.per_second[what][int(self.sim.now)] += count

    def duration(self, count: int) -> float:
        """Return the time for so many questions, one after the other."""
        average, spread = self.setup.answer_sec, self.setup.answer_spread
        if count == 1 or not spread:
            return count * average * (1 + spread * self.random.uniform(-1, 1))
        deviation = average * spread / math.sqrt(3) * math.sqrt(count)
        return max(0.0, self.random.gauss(count * average, deviation))


class _Shard:
    """One shard in one pod."""

    def __init__(self, run: _Run, cpu: Cpu, executions: int) -> None:
        self._run = run
        self._cpu = cpu
        self._thread = Slots(1)
        """Our own process works on one thing at a time."""
        self._left = self._executions = executions
        self._waiting = 0
        self._since = 0.0
        self._writing = False
        self._flushed: Resume | None = None

    def process(self) -> Process:
        run = self._run
        sim, setup, costs = run.sim, run.setup, run.costs
        began = sim.now
        if self._executions:
            yield sim.all_of([self._slot() for _ in range(min(setup.at_once, self._executions))])
            yield self._flush
        renewals = int((sim.now - began) / RENEWAL_SEC)
        run.outcome.requests.update({"GET": renewals, "PUT": renewals})
        if setup.judge_calls:
            self._left = self._executions
            judging = sim.now
            yield sim.all_of([self._judging() for _ in range(min(setup.judge_at_once, self._executions))])
            self._count_verdicts(sim.now - judging)
        run.count(costs.requests_per_shard)
        yield from run.log(costs.events_per_shard)

    def _slot(self) -> Process:
        run = self._run
        sim, setup, costs = run.sim, run.setup, run.costs
        while self._left:
            count = min(setup.grain, self._left)
            self._left -= count
            yield run.provider.take(count)
            yield sim.wait(run.duration(count))
            yield self._thread.take()
            yield self._cpu.work(count * costs.question_cpu)
            self._thread.give()
            run.outcome.executions += count
            run.note("questions", count)
            self._settled(count)

    def _judging(self) -> Process:
        run = self._run
        sim, setup = run.sim, run.setup
        while self._left:
            count = min(setup.grain, self._left)
            self._left -= count
            yield run.judge.take(count * setup.judge_calls)
            yield sim.wait(count * setup.judge_calls * setup.judge_sec)
            run.outcome.judge_requests += count * setup.judge_calls

    def _count_verdicts(self, seconds: float) -> None:
        """Count the objects that verdicts were kept in; small ones are read and deleted again when they are merged."""
        run = self._run
        objects = min(self._executions, math.ceil(seconds / (GATHER_SEC + run.costs.put_wait)))
        run.outcome.requests.update({"PUT": objects, "GET": objects, "DELETE": objects, "LIST": 1})

    def _settled(self, count: int) -> None:
        run = self._run
        if not self._waiting:
            self._since = run.sim.now
            run.sim.at(run.sim.now + SEGMENT_SEC, self._write)
        self._waiting += count
        self._write()

    def _write(self) -> None:
        """Write what waits as one segment, when it is time and none is on its way."""
        run = self._run
        sim, setup = run.sim, run.setup
        due = self._flushed or self._waiting >= setup.flush_every or sim.now >= self._since + SEGMENT_SEC - INSTANT
        if self._writing:
            return
        if not self._waiting:
            if self._flushed:
                resume, self._flushed = self._flushed, None
                resume()
            return
        if not due:
            return
        # With a coarse grain several segments' worth arrives as one.
        segments = max(1, self._waiting // setup.flush_every)
        self._waiting = 0
        run.outcome.requests["PUT"] += segments
        run.note("PUT", segments)
        self._writing = True
        sim.at(sim.now + run.costs.put_wait, self._written)

    def _written(self) -> None:
        self._writing = False
        self._write()

    def _flush(self, resume: Resume) -> None:
        self._flushed = resume
        self._write()


def _one(wait: Wait) -> Process:
    yield wait


def _share(executions: int, shards: int, shard: int) -> int:
    """Return how many executions a shard has, as evenly as it goes."""
    return executions * (shard + 1) // shards - executions * shard // shards
