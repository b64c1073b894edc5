"""Which run a candidate is held against."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from bench_assets.analysis.versions import VersionOrder, candidate_order
from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.gate import Verdict
from bench_assets.contracts.gate_policy import GatePolicy


class OfRun(Protocol):
    """What belongs to one finished run."""

    @property
    def benchmark(self) -> str:
        """`name@version`."""

    @property
    def candidate(self) -> str:
        """The key."""

    @property
    def run_id(self) -> str:
        """Its id."""


class EarlierGate(OfRun, Protocol):
    """What is needed of an earlier decision: a `GateDecision`, or a row that has the same."""

    @property
    def verdict(self) -> Verdict:
        """What the gate said."""

    @property
    def decided_at(self) -> str:
        """ISO 8601, UTC."""


class EarlierRun(OfRun, Protocol):
    """What is needed of a finished run: a `RunRecord`, or a row that has the same."""

    @property
    def start_time(self) -> str:
        """ISO 8601, UTC."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a candidate is held against."""

    candidate: str | None
    """None when there is nothing to hold it against."""
    run_id: str | None
    reason: str
    """One sentence: why this one, or why none."""
    needed: bool = False
    """True when there is none although the policy names one: the gate cannot decide."""


def last_accepted(gates: Iterable[EarlierGate], *, candidate: str, benchmark: str) -> EarlierGate | None:
    """Return the gate of the newest other candidate of the same agent whose last word on it was GO; None without one.

    Newest by version: a release comes after its pre-releases, versions after branches and commits, and among these the
    later decision. Where two are as new, the one with the candidate's own variant is taken.
    """
    agent, variant = _agent(candidate), _variant(candidate)
    last: dict[str, EarlierGate] = {}
    for gate in gates:
        if gate.benchmark == benchmark and gate.candidate != candidate and _agent(gate.candidate) == agent:
            known = last.get(gate.candidate)
            if known is None or gate.decided_at >= known.decided_at:
                last[gate.candidate] = gate

    def age(gate: EarlierGate) -> tuple[VersionOrder, bool, str]:
        is_version = candidate_order(gate.candidate).is_version
        order = candidate_order(gate.candidate, time="" if is_version else gate.decided_at)
        return order, _variant(gate.candidate) == variant, gate.decided_at

    return max((gate for gate in last.values() if gate.verdict == "GO"), key=age, default=None)


def previous(runs: Iterable[EarlierRun], *, candidate: str, benchmark: str, start_time: str) -> EarlierRun | None:
    """Return the newest run of the version before `candidate`, same agent and benchmark; None without one.

    For a candidate whose ref is no version: of the candidate whose run started last before `start_time`.
    """
    agent, variant = _agent(candidate), _variant(candidate)
    here = candidate_order(candidate, time=start_time)

    def age(run: EarlierRun) -> tuple[VersionOrder, bool, str]:
        order = candidate_order(run.candidate, time="" if here.is_version else run.start_time)
        return order, _variant(run.candidate) == variant, run.start_time

    others = (
        run
        for run in runs
        if run.benchmark == benchmark and run.candidate != candidate and _agent(run.candidate) == agent
    )
    if here.is_version:
        before = [run for run in others if candidate_order(run.candidate) < candidate_order(candidate)]
    else:
        before = [run for run in others if run.start_time < start_time]
        return max(before, key=lambda run: run.start_time, default=None)
    return max(before, key=age, default=None)


def choose_baseline(
    policy: GatePolicy,
    *,
    candidate: str,
    benchmark: str,
    start_time: str,
    gates: Iterable[EarlierGate],
    runs: Iterable[EarlierRun],
) -> Baseline:
    """Return what `policy.baseline` means for a candidate's run that started at `start_time`.

    `gates` are all earlier decisions and `runs` all finished runs that are known; others than this benchmark's and
    agent's are passed over. The newest run of a named baseline is taken.
    """
    agent = _agent(candidate)
    if policy.baseline == "last_accepted":
        gate = last_accepted(gates, candidate=candidate, benchmark=benchmark)
        why_none = f"No other candidate of `{agent}` has been accepted on `{benchmark}` yet."
        return _baseline(gate, why="is the newest accepted one", why_none=why_none)
    if policy.baseline == "previous":
        run = previous(runs, candidate=candidate, benchmark=benchmark, start_time=start_time)
        why_none = f"There is no earlier version of `{agent}` on `{benchmark}`."
        return _baseline(run, why="is the version before", why_none=why_none)
    if policy.baseline == candidate:
        return Baseline(None, None, f"`{candidate}` is the baseline itself.")
    named = [run for run in runs if run.benchmark == benchmark and run.candidate == policy.baseline]
    if not named:
        reason = f"The baseline `{policy.baseline}` has no finished run on `{benchmark}`. Make one, or name another."
        return Baseline(None, None, reason, needed=True)
    newest = max(named, key=lambda one: one.start_time)
    return _baseline(newest, why="is the one that the policy names", why_none="")


def _baseline(found: EarlierGate | EarlierRun | None, *, why: str, why_none: str) -> Baseline:
    if found is None:
        return Baseline(None, None, why_none)
    return Baseline(found.candidate, found.run_id, f"The baseline `{found.candidate}` {why}.")


def _agent(candidate: str) -> str:
    return CandidateKey.parse(candidate).agent


def _variant(candidate: str) -> str | None:
    return CandidateKey.parse(candidate).variant
