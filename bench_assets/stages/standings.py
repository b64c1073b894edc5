"""Step 8: all candidates of a benchmark, ranked, and in the order of their versions."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bench_assets.analysis.baselines import last_accepted
from bench_assets.analysis.comparison import compare
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.standings import Entry, history, leaderboard
from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.assessment import Assessment
from bench_assets.contracts.comparison import Comparison
from bench_assets.contracts.gate_policy import GatePolicy
from bench_assets.contracts.leaderboard import Leaderboard, Standing
from bench_assets.contracts.run import FinishedRun
from bench_assets.stages.finished import assessments, folder_of, newest_runs, read_finished, read_run
from bench_assets.stages.workspace import Workspace


def history_of(workspace: Workspace, benchmark: str, *, current: Assessment | None = None) -> list[Standing]:
    """Return every candidate's standing, by agent and version. `current` is newer than what is stored."""
    known = {one.candidate: one for one in assessments(workspace, benchmark)}
    if current is not None:
        known[current.candidate] = current
    return history(_entry(workspace, run_id, known.get(name)) for name, run_id in _runs(workspace, benchmark, known))


def board(
    workspace: Workspace,
    benchmark: str,
    *,
    policy: GatePolicy,
    known: Iterable[str],
    newest: Iterable[FinishedRun] | None = None,
) -> Leaderboard:
    """Return the leaderboard: every candidate with a finished run, each against one common baseline.

    The baseline is the candidate that the policy names, or else the newest accepted version of the agent with the most
    candidates here. Without one, nothing is compared. `known` are the candidates that somebody wants to see; those
    without a finished run are listed as missing. `newest` are the newest runs where the caller has them already.
    """
    found = {one.candidate: one for one in assessments(workspace, benchmark)}
    runs = dict(_runs(workspace, benchmark, found, newest))
    baseline = _common_baseline(policy, benchmark, candidates=list(runs), found=found)
    before: ObservedRun | None = None
    entries = []
    for candidate, run_id in runs.items():
        entry = _entry(workspace, run_id, found.get(candidate))
        comparison = None
        if baseline in runs and candidate != baseline:
            comparison = entry.comparison
            if comparison is None or _sides(comparison) != (runs[baseline], run_id):
                before = before or read_run(workspace, runs[baseline])
                comparison = compare(before, read_run(workspace, run_id), most_listed=0)
        entries.append(Entry(entry.run, entry.summary, entry.verdict, comparison))
    return leaderboard(benchmark, entries=entries, known=known)


def planned_candidates(workspace: Workspace, benchmark: str) -> list[str]:
    """Return the candidates that have a plan on a benchmark."""
    store = workspace.store
    plans = (store.read(key) for key in store.list(folder_of(benchmark, "plan") + "/"))
    return sorted(str(json.loads(plan)["candidate"]) for plan in plans)


def _runs(
    workspace: Workspace,
    benchmark: str,
    found: Mapping[str, Assessment],
    newest: Iterable[FinishedRun] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield each candidate with the run that speaks for it: the newest one, unless that is a smoke test."""
    for run in newest_runs(workspace, benchmark) if newest is None else newest:
        if run.summary.outcomes.get("missing"):
            continue
        assessment = found.get(run.candidate)
        lasting = assessment.lasting if assessment else None
        yield run.candidate, lasting.run_id if run.summary.partial and lasting else run.run_id


def _entry(workspace: Workspace, run_id: str, assessment: Assessment | None) -> Entry:
    run, summary = read_finished(workspace, run_id)
    if assessment is None:
        return Entry(run, summary)
    if assessment.run_id == run_id:
        return Entry(run, summary, assessment.decision.verdict, assessment.comparison)
    lasting = assessment.lasting if assessment.lasting and assessment.lasting.run_id == run_id else None
    return Entry(run, summary, lasting.verdict if lasting else None)


def _common_baseline(
    policy: GatePolicy, benchmark: str, *, candidates: list[str], found: Mapping[str, Assessment]
) -> str | None:
    if policy.baseline not in ("last_accepted", "previous"):
        return policy.baseline
    agents = Counter(CandidateKey.parse(candidate).agent for candidate in candidates)
    gates = [one.lasting for one in found.values() if one.lasting is not None]
    for agent, _ in agents.most_common():
        # A candidate that nobody has: every real one counts as another than it.
        accepted = last_accepted(gates, candidate=f"{agent}@.", benchmark=benchmark)
        if accepted is not None:
            return accepted.candidate
    return None


def _sides(comparison: Comparison) -> tuple[str, str]:
    return comparison.baseline.run_id, comparison.candidate.run_id
