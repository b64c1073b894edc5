import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.judging.matchers import match


def numeric(golden, answer, **settings):
    return match(golden, answer, JudgeSpec(type="numeric", **settings)).label


def choice(golden, answer, choices="ABCD"):
    return match(golden, answer, JudgeSpec(type="choice", choices=choices))


@pytest.mark.parametrize(
    ("golden", "answer"),
    [
        ("4", "2+2=4"),
        ("4", "4.0"),
        ("3.14", "It is 3.14."),
        (".5", "0,5"),
        ("-5", "\u22125 \u00b0C"),
        ("-5", "-$5"),
        ("5", "a range of 3-5"),
        ("1234", "1,234 apples"),
        ("1234", "1 234"),
        ("1234567", "1\u202f234\u202f567"),
        ("1234567", "1'234'567"),
        ("1234567", "1_234_567"),
        ("1234567", "1.234.567"),
        ("1234567.8", "1 234 567,8"),
        ("1234.5", "1,234.5"),
        ("1234.5", "1.234,5"),
        ("1.234", "1,234"),
        ("1,234", "1234"),
        ("1500", "1.5\u00d710^3"),
        ("1500", "1.5e3"),
        ("1000000", "10^6"),
        ("0.75", "3/4"),
        ("2020", "12/05/2020"),
        ("2020", "on 12-05-2020"),
        ("50%", "50 percent"),
        ("50%", "0.5"),
        ("0.5", "50 %"),
        ("18", "#### 18\nchecked 3 times"),
        ("7", "The answer is **7** (of 10)."),
        ("42", "Ответ: 42 яблока из 100"),
        ("9", "so \\boxed{9}, after 12 steps"),
        ("5", "$5.00"),
        ("3", "H2O and B12 are 3"),
        (["4", "5"], "5"),
        ("2", "1. first\n2"),
    ],
)
def test_a_number_is_read_as_a_person_writes_it(golden, answer):
    assert numeric(golden, answer) == "correct"


@pytest.mark.parametrize(
    ("golden", "answer"),
    [
        ("5", "-5"),
        ("12", "1234"),
        ("10", "1,0"),
        ("100", "10 0"),
        ("0.5%", "50%"),
        ("2", "H2O"),
        ("12", "twelve"),
        ("1234", "1.234"),
        ("4", "5"),
        ("1e400", "1"),
    ],
)
def test_another_number_is_incorrect(golden, answer):
    assert numeric(golden, answer) == "incorrect"


def test_tolerances_are_as_wide_as_they_say():
    assert numeric("10", "10.1", tolerance=0.1) == "correct"
    assert numeric("10", "10.11", tolerance=0.1) == "incorrect"
    assert numeric("-200", "-201", relative_tolerance=0.005) == "correct"
    assert numeric("200", "201.1", relative_tolerance=0.005) == "incorrect"
    assert numeric("0.3", "0.1 + 0.2 = 0.30") == "correct"


def test_a_reason_names_both_numbers():
    found = match("4", "I get 5 km", JudgeSpec(type="numeric"))
    assert found.reason == "The answer's number is `5`, not `4`."


@settings(deadline=None)
@given(text=st.text() | st.text(alphabet="0123456789.,-+eE/%^ '_x×*#"))
def test_no_answer_upsets_the_number_reader(text):
    assert numeric("4", text, relative_tolerance=0.1) in ("correct", "incorrect", "not_attempted")


@settings(deadline=None)
@given(number=st.integers(-(10**9), 10**9))
def test_every_integer_is_itself_in_any_grouping(number):
    for text in (str(number), f"{number:,}", f"{number:_}", f"{number:,}".replace(",", " ")):
        assert numeric(str(number), text) == "correct"


@pytest.mark.parametrize(
    ("golden", "answer"),
    [
        ("B", "b"),
        ("B", "(B)."),
        ("B", "**B**"),
        ("B", "The answer is (B)."),
        ("B", "The answer is b"),
        ("B", "**Answer:** B"),
        ("B", "The answer is: **B) Paris**"),
        ("B", "Answer: $\\boxed{B}$"),
        ("B", "Option A is wrong. The answer is B"),
        ("B", "B) Paris"),
        ("D", "D. Rome"),
        ("C", "Option C"),
        ("C", "the correct choice is (c)"),
        ("C", "Not A. The answer is C"),
        ("A", "The answer is A because of the year"),
        ("A", "I think A because of the year"),
        ("B", "I think B"),
        ("B", "Ответ: B"),
        ("B. Paris", "B"),
        (["A", "B"], "B"),
    ],
)
def test_a_choice_is_found_where_an_answer_makes_it(golden, answer):
    assert choice(golden, answer).label == "correct"


@pytest.mark.parametrize("answer", ["A dog", "answer is a dog", "Paris", "I do not know", "E", "The answer is E"])
def test_an_answer_that_chooses_nothing_is_incorrect(answer):
    found = choice("A", answer)
    assert (found.label, found.reason) == ("incorrect", "The answer chooses none of ABCD.")


@pytest.mark.parametrize(
    "answer",
    [
        "It could be (A) or (B)",
        "A or B",
        "The answer is A. The answer is B.",
        "**A** and **B**",
        "Answer: A or B",
        "Ответ: (A) и (B).",
        "**Answer: A, B**",
        "Answer: A/B\nC is wrong",
    ],
)
def test_two_choices_are_none(answer):
    found = choice("A", answer)
    assert (found.label, found.reason) == ("incorrect", "The answer is ambiguous: it names `A` and `B`.")


def test_letters_of_any_alphabet_can_be_the_choices():
    cyrillic_b = "\u0412"
    assert choice(cyrillic_b, f"Ответ: {cyrillic_b}", choices="\u0410\u0411\u0412\u0413").label == "correct"
    assert choice("B", f"Ответ: {cyrillic_b}").label == "incorrect"


@settings(deadline=None)
@given(text=st.text() | st.text(alphabet="ABCDabcd()[]*.:\n answeriotpu\\{}"))
def test_no_answer_upsets_the_choice_reader(text):
    assert choice("A", text).label in ("correct", "incorrect", "not_attempted")
