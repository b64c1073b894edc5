"""Texts, numbered without being held."""

from hypothesis import given
from hypothesis import strategies as st

from bench_assets.text_numbers import TextNumbers


def test_texts_are_numbered_in_the_order_of_their_arrival():
    numbers = TextNumbers()
    assert [numbers.add(text) for text in ("b", "a", "b", "")] == [(0, True), (1, True), (0, False), (2, True)]
    assert (numbers.find("a"), numbers.find("c"), len(numbers)) == (1, None, 3)
    assert "b" in numbers
    assert "c" not in numbers


@given(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=300))
def test_any_texts_get_the_numbers_that_a_dict_would_give(texts):
    numbers, known = TextNumbers(), {}
    for text in texts:
        number = known.setdefault(text, len(known))
        assert numbers.add(text)[0] == number
    assert all(numbers.find(text) == number for text, number in known.items())


def test_many_texts_survive_every_growth():
    numbers = TextNumbers()
    for number in range(20_000):
        assert numbers.add(f"q{number}") == (number, True)
    assert all(numbers.find(f"q{number}") == number for number in range(20_000))
    assert numbers.find("q20000") is None
