import pytest

from bench_assets.contracts.plan import Selection
from bench_assets.errors import InvalidPlan
from bench_assets.planning.selection import select

IDS = [f"q{number}" for number in range(200)]


def choose(ids: list[str] = IDS, *, limit=None, sample=None, seed=0, repetitions=1) -> Selection:
    return select(iter(ids), rows=len(ids), limit=limit, sample=sample, seed=seed, repetitions=repetitions)


def test_nothing_chosen_means_every_question():
    selection = choose(repetitions=3)
    assert (selection.ids, selection.questions, selection.executions) == (None, 200, 600)


def test_a_seed_gives_the_same_questions_and_another_seed_others():
    first, again, other = choose(sample=3, seed=1), choose(sample=3, seed=1), choose(sample=3, seed=2)
    assert first.ids == again.ids != other.ids


def test_a_sample_is_the_same_for_ever():
    assert choose(sample=5, seed=7).ids == PINNED


def test_a_sample_does_not_depend_on_the_order_of_the_rows():
    assert set(choose(sample=20, seed=3).ids) == set(choose(IDS[::-1], sample=20, seed=3).ids)


def test_a_sample_is_drawn_from_all_rows_and_comes_in_their_order():
    drawn = {identity for seed in range(60) for identity in choose(sample=20, seed=seed).ids}
    assert len(drawn) > 190
    ids = choose(sample=20, seed=1).ids
    assert ids == sorted(ids, key=IDS.index)


def test_the_limit_cuts_after_the_sample():
    sample = choose(sample=10, seed=4).ids
    both = choose(sample=10, seed=4, limit=3)
    assert both.ids == sample[:3]
    assert both.questions == 3


def test_a_limit_above_the_rows_takes_them_all():
    assert choose(limit=500).questions == 200


def test_a_sample_above_the_rows_is_refused():
    with pytest.raises(InvalidPlan, match=r"sample=201.*200 questions"):
        choose(sample=201)


PINNED = ["q38", "q59", "q187", "q189", "q192"]
