"""The simulation behind the figures on many pods: it loses nothing, and its limits bind as they are computed."""

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf.discrete_events import Cpu, Process, Simulation, Slots
from perf.simulation import Costs, Setup, simulate

COSTS = Costs(
    start_cpu=3.0,
    restore_cpu=1.0,
    question_cpu=0.002,
    event_cpu=0.01,
    events_per_run=10,
    events_per_shard=8,
    finish_cpu=2.0,
    summary_cpu=1e-5,
    row_cpu=2e-5,
    row_postgres_cpu=1e-5,
    requests_per_shard=Counter({"PUT": 4, "GET": 6}),
)
FREE = Costs(start_cpu=0.0, question_cpu=0.0, put_wait=0.0)
"""Nothing costs anything, so that only what a test is about takes time."""


def ends(cores: float, *jobs: tuple[float, float]) -> list[float]:
    """Return when each of some jobs, given as start and seconds of work, is done."""
    simulation = Simulation()
    cpu = Cpu(simulation, cores)
    ended = [0.0] * len(jobs)

    def job(number: int, start: float, work: float) -> Process:
        yield simulation.wait(start)
        yield cpu.work(work)
        ended[number] = simulation.now

    for number, (start, work) in enumerate(jobs):
        simulation.start(job(number, start, work))
    simulation.run()
    assert cpu.used == pytest.approx(sum(work for _, work in jobs))
    return ended


def test_cores_are_shared_evenly_and_nobody_takes_two() -> None:
    assert ends(2, (0, 1)) == pytest.approx([1])
    assert ends(2, (0, 1), (0, 1)) == pytest.approx([1, 1])
    assert ends(1, (0, 1), (0, 1)) == pytest.approx([2, 2])
    assert ends(1, (0, 2), (1, 0.5)) == pytest.approx([2.5, 2.0]), "half the core each while both are there"


def test_who_waits_longest_goes_first() -> None:
    simulation, slots, order = Simulation(), Slots(1), []

    def one(name: str) -> Process:
        yield slots.take()
        order.append(name)
        yield simulation.wait(1)
        slots.give()

    for name in "abc":
        simulation.start(one(name))
    assert simulation.run() == 3
    assert order == ["a", "b", "c"]


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        Setup,
        executions=st.integers(0, 400),
        shards=st.integers(1, 12),
        pods=st.integers(1, 6),
        shards_per_run=st.integers(1, 3),
        at_once=st.integers(1, 8),
        grain=st.integers(1, 7),
        cores=st.sampled_from([None, 1.0, 2.0]),
        answer_spread=st.just(0.5),
        judge_calls=st.just(1),
    )
)
def test_no_execution_is_lost_and_none_is_counted_twice(setup: Setup) -> None:
    outcome = simulate(setup, COSTS)
    runs = math.ceil(setup.shards / setup.shards_per_run)
    assert outcome.executions == outcome.rows == outcome.judge_requests == setup.executions
    assert outcome.per_second["questions"].total() == setup.executions
    assert outcome.events == 10 * runs + 8 * setup.shards
    assert outcome.answers_seconds <= outcome.seconds
    work = 4 * runs + 0.002 * setup.executions + (0.01 * outcome.events if setup.cores else 0)
    assert outcome.cpu_seconds >= work - 1e-6
    if setup.cores:
        assert outcome.cpu_seconds <= setup.cores * outcome.seconds + 1e-6


def test_one_pod_takes_the_sum_of_its_parts() -> None:
    setup = Setup(executions=100, shards=1, pods=1, at_once=10, answer_sec=1.5, pod_start_sec=5.0)
    costs = Costs(start_cpu=3.0, start_wait=0.5, restore_cpu=1.0, restore_wait=0.25, question_cpu=0.0, put_wait=0.1)
    asking = 10 * 1.5
    assert simulate(setup, costs).answers_seconds == pytest.approx(5 + 3.5 + 1.25 + asking + 0.1)


def test_more_pods_are_never_slower_when_nothing_is_shared() -> None:
    setup = Setup(executions=4000, shards=64, pods=1, at_once=4)
    took = [simulate(replace(setup, pods=pods), COSTS).answers_seconds for pods in (1, 2, 4, 8, 16, 32, 64)]
    assert took == sorted(took, reverse=True)
    assert took[0] / took[-1] > 40


def test_more_pods_on_the_same_cores_do_not_help_work() -> None:
    setup = Setup(executions=2000, shards=8, pods=2, at_once=1000, answer_sec=0.0, cores=2.0)
    few, many = (simulate(replace(setup, pods=pods), COSTS).answers_seconds for pods in (2, 8))
    assert many == pytest.approx(few, rel=0.05)


@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_a_providers_rate_binds_as_computed(rate: float) -> None:
    setup = Setup(executions=1000, shards=10, pods=10, at_once=100, answer_sec=2.0, provider_rate=rate)
    outcome = simulate(setup, FREE)
    assert outcome.answers_seconds == pytest.approx(999 / rate + 2.0)
    assert outcome.peak("questions") <= rate * 1.1


def test_a_judges_rate_binds_as_computed() -> None:
    setup = Setup(
        executions=300, shards=3, pods=3, at_once=100, answer_sec=0.0, judge_calls=2, judge_sec=0.0, judge_rate=20.0
    )
    assert simulate(setup, FREE).answers_seconds == pytest.approx(598 / 20.0, rel=0.01)


def test_segments_fill_up_or_leave_after_two_seconds() -> None:
    quick = Setup(executions=1000, shards=1, pods=1, at_once=1, answer_sec=0.001)
    assert simulate(quick, FREE).requests["PUT"] == 20
    slow = Setup(executions=30, shards=1, pods=1, at_once=1, answer_sec=1.0)
    segments = simulate(slow, FREE).requests["PUT"] - int(30 / 3.75)
    assert 10 <= segments <= 15


def test_the_queue_lets_only_so_many_go() -> None:
    setup = Setup(executions=40, shards=4, pods=1, at_once=10, answer_sec=1.0)
    assert simulate(setup, FREE).answers_seconds == pytest.approx(4.0)
    assert simulate(replace(setup, pods=4), FREE).answers_seconds == pytest.approx(1.0)
    assert simulate(replace(setup, pods=4, launch_sec=3.0), FREE).answers_seconds == pytest.approx(3 * 3.0 + 1.0)


def test_a_coarse_grain_tells_the_same_time() -> None:
    setup = Setup(executions=20_000, shards=8, pods=4, at_once=8, answer_sec=1.0, answer_spread=0.5)
    fine, coarse = (simulate(replace(setup, grain=grain), COSTS) for grain in (1, 10))
    assert coarse.seconds == pytest.approx(fine.seconds, rel=0.03)
    assert coarse.executions == fine.executions


def test_the_same_seed_gives_the_same_run() -> None:
    setup = Setup(executions=500, shards=4, pods=2, at_once=3, answer_spread=0.5)
    assert simulate(setup, COSTS, seed=7) == simulate(setup, COSTS, seed=7)
