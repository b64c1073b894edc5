from dataclasses import dataclass

import pytest

from bench_assets.analysis.baselines import choose_baseline, last_accepted, previous
from bench_assets.contracts.gate_policy import GatePolicy


@dataclass(frozen=True)
class Gate:
    candidate: str
    verdict: str = "GO"
    decided_at: str = "2026-01-01"
    benchmark: str = "facts@1.0"

    @property
    def run_id(self):
        return f"run-{self.candidate}"


@dataclass(frozen=True)
class Run:
    candidate: str
    start_time: str = "2026-01-01"
    benchmark: str = "facts@1.0"
    run_id: str = "r"


def accepted(*gates, candidate="kg@v9"):
    found = last_accepted(gates, candidate=candidate, benchmark="facts@1.0")
    return None if found is None else found.candidate


def test_the_newest_accepted_is_the_highest_version_and_not_the_latest_decision():
    gates = [Gate("kg@v1.10.0"), Gate("kg@v1.9.0", decided_at="2026-02-01"), Gate("kg@v1.10.0-rc1")]
    assert accepted(*gates) == "kg@v1.10.0"


def test_only_a_go_accepts_and_the_last_word_counts():
    gates = [Gate("kg@v1"), Gate("kg@v2", "NO-GO"), Gate("kg@v3", "INCONCLUSIVE"), Gate("kg@v4")]
    assert accepted(*gates) == "kg@v4"
    assert accepted(*gates, Gate("kg@v4", "NO-GO", "2026-02-01")) == "kg@v1"
    assert accepted(Gate("kg@v4", "NO-GO", "2026-02-01"), *gates) == "kg@v1"


def test_other_agents_benchmarks_and_the_candidate_itself_do_not_count():
    assert accepted(Gate("web@v1"), Gate("kg@v1", benchmark="sums@1.0"), Gate("kg@v9")) is None
    assert accepted() is None


def test_branches_stand_by_the_time_of_their_decision_and_before_versions():
    branches = [Gate("kg@main", decided_at="2026-01-05"), Gate("kg@fix", decided_at="2026-01-04")]
    assert accepted(*branches) == "kg@main"
    assert accepted(*branches, Gate("kg@v0.1")) == "kg@v0.1"


def test_of_two_variants_of_a_version_the_candidate_s_own_is_taken():
    gates = [Gate("kg@v1~large"), Gate("kg@v1", decided_at="2026-02-01")]
    assert accepted(*gates, candidate="kg@v2~large") == "kg@v1~large"
    assert accepted(*gates, candidate="kg@v2") == "kg@v1"


def test_the_previous_version_is_the_one_before_whatever_its_gate_said():
    runs = [Run("kg@v1"), Run("kg@v3"), Run("kg@v2"), Run("kg@v2.1-rc1"), Run("web@v2.5")]
    found = previous(runs, candidate="kg@v3", benchmark="facts@1.0", start_time="2026-03-01")
    assert found.candidate == "kg@v2.1-rc1"
    assert previous(runs, candidate="kg@v1", benchmark="facts@1.0", start_time="2026-03-01") is None


def test_the_previous_of_a_branch_is_the_run_that_started_last_before_it():
    runs = [Run("kg@v1", "2026-01-01"), Run("kg@fix", "2026-01-03"), Run("kg@late", "2026-01-09")]
    found = previous(runs, candidate="kg@main", benchmark="facts@1.0", start_time="2026-01-05")
    assert found.candidate == "kg@fix"


def choose(baseline, *, candidate="kg@v3", gates=(), runs=()):
    return choose_baseline(
        GatePolicy(baseline=baseline),
        candidate=candidate,
        benchmark="facts@1.0",
        start_time="2026-03-01",
        gates=gates,
        runs=runs,
    )


def test_the_policy_s_baseline_comes_with_its_run_and_a_reason():
    found = choose("last_accepted", gates=[Gate("kg@v1")])
    assert (found.candidate, found.run_id) == ("kg@v1", "run-kg@v1")
    assert found.reason == "The baseline `kg@v1` is the newest accepted one."
    newest = Run("kg@v1", "2026-02-01", run_id="second")
    assert choose("kg@v1", runs=[Run("kg@v1", run_id="first"), newest]).run_id == "second"
    assert choose("previous", runs=[Run("kg@v1"), Run("kg@v2")]).candidate == "kg@v2"


@pytest.mark.parametrize(
    ("baseline", "needed", "reason"),
    [
        ("last_accepted", False, "No other candidate of `kg` has been accepted on `facts@1.0` yet."),
        ("previous", False, "There is no earlier version of `kg` on `facts@1.0`."),
        ("kg@v3", False, "`kg@v3` is the baseline itself."),
        ("kg@v1", True, "The baseline `kg@v1` has no finished run on `facts@1.0`. Make one, or name another."),
    ],
)
def test_without_a_baseline_the_reason_says_why(baseline, needed, reason):
    found = choose(baseline)
    assert (found.candidate, found.run_id, found.needed, found.reason) == (None, None, needed, reason)
