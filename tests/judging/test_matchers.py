import time

import pytest

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.judging.identity import matcher_identity
from bench_assets.judging.matchers import golden_fault, match
from bench_assets.judging.matching import MatcherScorer
from bench_assets.judging.regexes import RegexSearcher
from tests.judging.making import item


def label(kind, golden, answer, **settings):
    return match(golden, answer, JudgeSpec(type=kind, **settings)).label


@pytest.mark.parametrize(
    ("golden", "answer"),
    [
        ("Paris", " paris. "),
        ("Paris", '"Paris"!'),
        ("Paris", "**Paris**"),
        ("Straße", "STRASSE"),
        ("\uff21\uff22\uff23", "abc"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
        ("New York", "new\u00a0 york"),
        ("rock 'n' roll", "rock \u2019n\u2019 roll"),
        ("1939-1945", "1939\u20131945"),
        (["NYC", "New York"], "New York"),
        ("[]", "[]"),
        ("...", "..."),
        ("Привет", "ПРИВЕТ"),
    ],
)
def test_exact_match_looks_past_what_merely_surrounds_an_answer(golden, answer):
    assert label("exact_match", golden, answer) == "correct"


@pytest.mark.parametrize(
    ("golden", "answer"),
    [("C#", "C"), ("-5", "5"), ("50%", "50"), ("5!", "5"), ("Paris", "Paris, France"), ("...", "."), ("a", "b")],
)
def test_exact_match_drops_nothing_that_carries_meaning(golden, answer):
    assert label("exact_match", golden, answer) == "incorrect"


def test_case_counts_when_the_benchmark_says_so():
    assert label("exact_match", "Polish", "polish", ignore_case=False) == "incorrect"
    assert label("contains", "Polish", "it is polish", ignore_case=False) == "incorrect"
    assert label("regex", "Polish", "it is polish", ignore_case=False) == "incorrect"


@pytest.mark.parametrize(
    ("golden", "answer", "expected"),
    [
        ("Paris", "It is Paris.", "correct"),
        ("Paris", "Parisian", "incorrect"),
        ("art", "the start and the art", "correct"),
        ("4", "14 or 40", "incorrect"),
        ("4", "4.5 and 1,4", "incorrect"),
        ("4", "4kg", "correct"),
        ("4", "There are 4, I think", "correct"),
        ("\u6771\u4eac", "\u65e5\u672c\u306e\u9996\u90fd\u306f\u6771\u4eac\u3067\u3059", "correct"),
        (["NYC", "New York"], "in new  york city", "correct"),
        ("Paris.", "Paris is it", "correct"),
    ],
)
def test_contains_finds_whole_words_and_numbers(golden, answer, expected):
    assert label("contains", golden, answer) == expected


def test_contains_says_when_it_only_found_a_part():
    assert match("4", "14", JudgeSpec(type="contains")).reason.endswith("only as a part of a longer word or number.")


def test_regex_searches_the_answer_as_it_is():
    assert label("regex", r"^par[iy]s\b", "Paris it is") == "correct"
    assert label("regex", ["rome", r"\d{4}"], "in 1999") == "correct"
    assert label("regex", r"\d{4}", "in 99") == "incorrect"


@pytest.mark.parametrize("kind", ["exact_match", "contains", "regex", "numeric", "choice"])
@pytest.mark.parametrize("answer", ["[]", " [ ] ", '""', "''", "{}", "\u201c\u201d"])
def test_an_empty_structure_is_not_attempted(kind, answer):
    assert label(kind, "B7" if kind != "choice" else "B", answer) == "not_attempted"


@pytest.mark.parametrize(
    ("kind", "golden", "words"),
    [
        ("exact_match", "", "empty"),
        ("contains", " ", "empty"),
        ("contains", ["Paris", ""], "empty"),
        ("contains", [], "empty"),
        ("regex", "(", "no regular expression"),
        ("numeric", "twelve", "no number"),
        ("choice", "Paris", "exactly one"),
        ("choice", "A or B", "exactly one"),
    ],
)
def test_a_golden_that_cannot_match_is_a_fault_and_passes_nothing(kind, golden, words):
    spec = JudgeSpec(type=kind)
    assert words in golden_fault(golden, spec)
    with MatcherScorer(spec, matcher_identity(spec)) as scorer:
        ((_, found),) = scorer.score([item("anything", golden=golden)])
    assert (found.label, found.error.code) == (None, "bad_golden")


def test_a_judge_may_read_any_golden():
    assert golden_fault("", JudgeSpec(type="llm", model="m")) is None
    assert golden_fault("B", JudgeSpec(type="choice")) is None


def test_a_search_that_never_ends_is_given_up_and_the_next_one_works():
    spec = JudgeSpec(type="regex")
    with MatcherScorer(spec, matcher_identity(spec), searcher=RegexSearcher(seconds=0.5)) as scorer:
        began = time.monotonic()
        items = [item("a" * 60 + "!", golden="(a+)+$"), item("abc\ud800", golden="B"), item("x", golden="y")]
        found = [verdict for _, verdict in scorer.score(items)]
    assert time.monotonic() - began < 10
    assert [verdict.label for verdict in found] == [None, "correct", "incorrect"]
    assert found[0].error.code == "regex_timeout"
    assert "0.5 s" in found[0].error.message
