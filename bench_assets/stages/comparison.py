"""Step 7: a finished run held against its baseline, and the gate's decision on it."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench_assets.analysis.baselines import Baseline, choose_baseline
from bench_assets.analysis.comparison import compare
from bench_assets.analysis.gate import decide
from bench_assets.analysis.report.page import report_pieces
from bench_assets.analysis.runs import ObservedRun
from bench_assets.analysis.standings import corrected_p_values
from bench_assets.analysis.transitions import AllTransitions
from bench_assets.contracts.assessment import Assessment
from bench_assets.contracts.base import VersionedRecord
from bench_assets.contracts.benchmark import BenchmarkSpec
from bench_assets.contracts.comparison import Comparison, TransitionRow
from bench_assets.contracts.gate import GateDecision
from bench_assets.contracts.gate_policy import GatePolicy
from bench_assets.contracts.run import RunRecord
from bench_assets.planning.plan import timestamp
from bench_assets.stages.finished import assessment_of, assessments, newest_runs, read_finished, read_run
from bench_assets.stages.standings import history_of
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle


@dataclass(frozen=True)
class Assessed:
    """A run with what it was held against and what came of it."""

    candidate: ObservedRun
    baseline: ObservedRun | None
    """None when there was none, and then no comparison either."""
    comparison: Comparison | None
    decision: GateDecision
    lasting: GateDecision | None
    """See `Assessment.lasting`."""

    @property
    def transitions(self) -> Iterable[TransitionRow]:
        """What became of every common question, without texts; made anew each time it is iterated over."""
        if self.comparison is None or self.baseline is None:
            return ()
        return (
            self.comparison.transitions
            if not self.comparison.left_out
            else AllTransitions(self.baseline, self.candidate)
        )

    @property
    def assessment(self) -> Assessment:
        """The record of it, without the transitions."""
        short = self.comparison.model_copy(update={"transitions": []}) if self.comparison else None
        run = self.candidate.run
        return Assessment(
            benchmark=run.benchmark,
            candidate=run.candidate,
            run_id=run.run_id,
            decision=self.decision,
            comparison=short,
            lasting=self.lasting,
        )


def assess(
    workspace: Workspace,
    run_id: str,
    *,
    spec: BenchmarkSpec,
    policy: GatePolicy | None = None,
    against: str | None = None,
) -> Assessed:
    """Compare a finished run with its baseline and decide. Nothing is stored.

    Args:
        workspace: the project.
        run_id: the run to decide on.
        spec: its benchmark's, for the gate's policy and for what a run over everything is.
        policy: another policy than the spec's; None takes that.
        against: the run_id of a baseline that a person chose; None lets the policy choose.

    Raises InvalidInput for a run that is not finished.
    """
    policy = policy or spec.gate
    run, _ = read_finished(workspace, run_id)
    others = [one for one in assessments(workspace, run.benchmark) if one.candidate != run.candidate]
    if against is not None:
        named, _ = read_finished(workspace, against)
        baseline = Baseline(named.candidate, against, f"The baseline `{named.candidate}` was chosen by hand.")
    else:
        baseline = choose_baseline(
            policy,
            candidate=run.candidate,
            benchmark=run.benchmark,
            start_time=run.start_time,
            gates=[one.lasting for one in others if one.lasting is not None],
            runs=_baseline_runs(workspace, others, benchmark=run.benchmark),
        )
    candidate = read_run(workspace, run_id, pairing=baseline.run_id is not None, named=policy.must_pass)
    before = read_run(workspace, baseline.run_id) if baseline.run_id else None
    comparison = compare(before, candidate) if before else None
    calibration = candidate.summary.judging.calibration if candidate.summary.judging else None
    decision = decide(
        policy,
        candidate=candidate,
        baseline=baseline,
        comparison=comparison,
        decided_at=timestamp(),
        judge_kappa=calibration.kappa if calibration else None,
        p_value=_corrected(comparison, others),
    )
    lasting: GateDecision | None = decision
    if not covers(run, spec):
        earlier = assessment_of(workspace, benchmark=run.benchmark, candidate=run.candidate)
        lasting = earlier.lasting if earlier else None
    return Assessed(candidate, before, comparison, decision, lasting)


def covers(run: RunRecord, spec: BenchmarkSpec) -> bool:
    """Return whether a run asked everything that its benchmark asks, and is no smoke test."""
    selection = run.selection
    return selection.questions == run.total_rows or (selection.limit, selection.sample) == (spec.limit, spec.sample)


def _baseline_runs(workspace: Workspace, others: list[Assessment], *, benchmark: str) -> Iterator[RunRecord]:
    """Yield the run that speaks for each candidate; read one by one, as most policies look at none."""
    lasting = {one.candidate: one.lasting.run_id for one in others if one.lasting is not None}
    for newest in newest_runs(workspace, benchmark):
        run_id = lasting.get(newest.candidate, newest.run_id) if newest.summary.partial else newest.run_id
        if not newest.summary.outcomes.get("missing"):
            yield read_finished(workspace, run_id)[0]


def _corrected(comparison: Comparison | None, others: list[Assessment]) -> float | None:
    """Return the p-value, corrected for all candidates that were held against the same run."""
    if comparison is None:
        return None
    family = {
        one.candidate: one.comparison
        for one in others
        if one.comparison is not None and one.comparison.baseline.run_id == comparison.baseline.run_id
    }
    mine = comparison.candidate.candidate
    return corrected_p_values({**family, mine: comparison}).get(mine)


def attach(workspace: Workspace, assessed: Assessed) -> None:
    """Put `comparison.json`, `gate.json` and `report.html` into the run's bundle, in place of earlier ones."""
    bundle = RunBundle(workspace.store, assessed.candidate.run.run_id)
    if assessed.comparison is not None:
        bundle.attach("comparison.json", _pretty_comparison(assessed.comparison))
    else:
        bundle.detach("comparison.json")
    bundle.attach("gate.json", _pretty(assessed.decision))
    bundle.attach("report.html", (piece.encode() for piece in report_of(workspace, assessed)))


def report_of(workspace: Workspace, assessed: Assessed) -> Iterator[str]:
    """Yield `report.html` of a run, with the history of all candidates, in pieces."""
    return report_pieces(
        assessed.candidate,
        baseline=assessed.baseline,
        comparison=assessed.comparison,
        decision=assessed.decision,
        history=history_of(workspace, assessed.candidate.run.benchmark, current=assessed.assessment),
    )


def _pretty(record: VersionedRecord) -> bytes:
    return json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False, indent=2).encode() + b"\n"


def _pretty_comparison(comparison: Comparison) -> Iterator[bytes]:
    """Yield `_pretty` of a comparison without making one text of its transitions."""
    mark = b'"transitions": []'
    before, _, after = _pretty(comparison.model_copy(update={"transitions": []})).rpartition(mark)
    yield before + (mark if not comparison.transitions else mark[:-1])
    for place, one in enumerate(comparison.transitions):
        text = json.dumps(one.to_json(), ensure_ascii=False, allow_nan=False, indent=2).replace("\n", "\n    ")
        yield (b",\n    " if place else b"\n    ") + text.encode()
    yield (b"\n  ]" if comparison.transitions else b"") + after
