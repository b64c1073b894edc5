"""Agreement: against other implementations, hand-made tables, and published figures."""

import csv
import os
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bench_assets.analysis.agreement import cohens_kappa, fleiss_kappa, krippendorffs_alpha

FOLDER = Path(os.environ.get("BENCH_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data") / "openqa_eval"
published = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the published results are not here: {FOLDER} (BENCH_TEST_DATA names their folder)"
)


def rows(name):
    with (FOLDER / f"NQ301_{name}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("seed", range(6))
def test_kappa_and_its_error_are_those_of_statsmodels(seed):
    from statsmodels.stats.inter_rater import cohens_kappa as reference

    table = np.random.default_rng(seed).integers(0, 40, size=(3, 3))
    found = cohens_kappa({(a, b): int(table[a, b]) for a in range(3) for b in range(3)})
    expected = reference(table)
    assert found.value == pytest.approx(expected.kappa)
    assert found.stderr == pytest.approx(expected.std_kappa)


@pytest.mark.parametrize("seed", range(6))
def test_fleiss_kappa_is_that_of_statsmodels(seed):
    from statsmodels.stats.inter_rater import fleiss_kappa as reference

    draw = random.Random(seed)
    units = [Counter(draw.choices("abc", weights=[3, 2, 1], k=5)) for _ in range(60)]
    assert fleiss_kappa(units) == pytest.approx(reference([[unit[name] for name in "abc"] for unit in units]))


def test_alpha_is_that_of_the_textbook_example_with_missing_values():
    # Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", nominal data, four observers, twelve units.
    by_unit = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
    assert krippendorffs_alpha(by_unit) == pytest.approx(0.743, abs=5e-4)


def test_full_agreement_is_1_and_chance_is_about_0():
    assert cohens_kappa({("a", "a"): 5, ("b", "b"): 5}).value == pytest.approx(1.0)
    assert cohens_kappa({(a, b): 10 for a in "ab" for b in "ab"}).value == pytest.approx(0.0)
    assert krippendorffs_alpha(["aa", "bb", "cc"]) == pytest.approx(1.0)
    assert fleiss_kappa([{"a": 3}, {"b": 3}]) == pytest.approx(1.0)


def test_what_cannot_be_measured_is_none():
    assert cohens_kappa({}) is None
    assert cohens_kappa({("a", "a"): 9}) is None
    assert krippendorffs_alpha([]) is None
    assert krippendorffs_alpha(["aa", "aa"]) is None
    assert krippendorffs_alpha(["a", "b"]) is None
    assert fleiss_kappa([{"a": 3}, {"b": 2}]) is None


@published
def test_two_judges_agree_with_people_as_their_data_says():
    people = [row["Acceptable?"] for row in rows("human")]
    gpt_4 = [row["Acceptable?"] for row in rows("gpt-4")]
    bem = [row["Acceptable?"] for row in rows("BEM")]
    # 0.615 and 0.693, cut after the third place. Two blank labels of GPT-4 count as a label of their own.
    assert cohens_kappa(Counter(zip(people, bem, strict=True))).value == pytest.approx(0.61572, abs=5e-6)
    assert cohens_kappa(Counter(zip(people, gpt_4, strict=True))).value == pytest.approx(0.69343, abs=5e-6)


@published
def test_people_disagree_as_often_as_was_published():
    votes = [(row["annotator1"], row["annotator2"]) for row in rows("human")]
    assert sum(one != other for one, other in votes) == 202
    assert fleiss_kappa(Counter(pair) for pair in votes) == pytest.approx(0.728, abs=5e-4)
