"""One S3 and one Postgres that processes share, and what they and those processes use."""

import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.database import Database
from tests.services.postgres import new_database
from tests.services.seaweed import S3Endpoint, running_seaweed

ROOT = Path(__file__).parent.parent
TIMEOUT_SEC = 900

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


class Services:
    """One S3 and one Postgres, with a database for Dagster and one for rows, and how to count what they do."""

    def __init__(self, folder: Path, s3: S3Endpoint, server: Database, dagsters: str, ours: str) -> None:
        self.folder = folder
        self.s3 = s3
        self.dagsters = dagsters
        self.ours = ours
        self._postmaster = postmaster(folder / "postgres")
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

    def requests(self) -> Counter[str]:
        """Return the requests to S3 so far, by kind."""
        return Counter(self.log.read_text(encoding="utf-8").split() if self.log.exists() else ())

    def cpu(self) -> tuple[float, float]:
        """Return the seconds that S3 and Postgres have used."""
        return cpu_of(self.s3.process.pid), cpu_of(self._postmaster)

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
        others = max(0.0, _busy() - before.busy - ours - (time.process_time() - before.own))
        return Used(
            wall=wall,
            cpu=ours,
            postgres=postgres,
            cores=max(0.1, len(os.sched_getaffinity(0)) - others / wall),
            requests=self.requests() - before.requests,
            events=self.events() - before.events,
        )

    def before(self) -> "_Before":
        """Return how things stand."""
        return _Before(
            services=self.cpu(),
            children=_children(),
            own=time.process_time(),
            busy=_busy(),
            requests=self.requests(),
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
def running_services(folder: Path) -> Iterator[Services]:
    """Start both in a folder, with empty databases, until the block ends."""
    (folder / "weed").mkdir(parents=True)
    with ExitStack() as opened:
        s3 = opened.enter_context(running_seaweed(folder / "weed"))
        server = opened.enter_context(Database.open(None, embedded_root=folder / "postgres"))
        dagsters, ours = (opened.enter_context(new_database(server.url)) for _ in range(2))
        with Database.open(ours, embedded_root=folder) as tables:
            tables.upgrade()
        yield Services(folder, s3, server, dagsters, ours)


def _scalar(url: str, query: str) -> int:
    engine = create_engine(parse_url(url), poolclass=NullPool)
    with engine.connect() as connection:
        return int(connection.scalar(text(query)) or 0)


def postmaster(folder: Path) -> int:
    """Return the process of an embedded Postgres."""
    return int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])


def cpu_of(root: int) -> float:
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


def _busy() -> float:
    """Return the seconds that all cores of this machine have worked."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
