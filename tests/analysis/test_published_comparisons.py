"""Real results of others, compared by our records and tests."""

import csv
import gzip
import io
import itertools
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from bench_assets.analysis.comparison import compare
from bench_assets.analysis.runs import ObservedRun
from tests.analysis.observing import observed

DATA = Path(os.environ.get("BENCH_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")
OUTCOME_OF_GRADE = {"A": "correct", "B": "incorrect", "C": "not_attempted"}
MODELS = (
    "claude-3-5-haiku-20241022",
    "claude-3-5-sonnet-20240620",
    "claude-3-5-sonnet-20241022",
    "gpt-4o-2024-11-20",
    "gpt-4o-mini-2024-07-18",
)

pytestmark = pytest.mark.skipif(
    not (DATA / "simple_evals_ru").is_dir(),
    reason=f"the published results are not here: {DATA} (BENCH_TEST_DATA names their folder)",
)


def russian(name: str, candidate: str) -> ObservedRun:
    with gzip.open(DATA / "simple_evals_ru" / f"{name}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        rows = [json.loads(line) for line in file]
    return observed(
        {str(row["id"]): "correct" if row["is_correct"] else "incorrect" for row in rows},
        candidate,
        texts={str(row["id"]): row["instruction"] for row in rows},
        usage={str(row["id"]): row["usage"] for row in rows if row["usage"]},
        run={"benchmark": f"{name.partition('.')[0]}@1.0"},
    )


@cache
def czech(model: str) -> ObservedRun:
    with gzip.open(DATA / "czech_simpleqa" / f"{model}.csv.gz") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline="")))
    # The files are in different orders, have no ids, and one problem occurs twice, with two targets.
    rows.sort(key=lambda row: row["target"])
    seen: Counter[str] = Counter()
    by_id = {}
    for row in rows:
        seen[row["problem"]] += 1
        by_id[f"{row['problem']} ({seen[row['problem']]})"] = row
    return observed(
        {id_: OUTCOME_OF_GRADE[row["grade"]] for id_, row in by_id.items()},
        f"{model}@v1",
        texts={id_: row["problem"] for id_, row in by_id.items()},
        goldens={id_: row["target"] for id_, row in by_id.items()},
    )


def mcnemar_p(gained: int, lost: int) -> float:
    from statsmodels.stats.contingency_tables import mcnemar

    return mcnemar([[0, lost], [gained, 0]], exact=True).pvalue


@pytest.mark.parametrize(("bench", "fixed", "broken"), [("mgsm", 8, 8), ("math", 37, 12), ("mmlu", 25, 20)])
def test_two_versions_of_one_model_differ_by_the_known_questions(bench, fixed, broken):
    found = compare(russian(f"{bench}.14_gigachat_max", "giga@v1"), russian(f"{bench}.27_gigachat_max", "giga@v2"))
    assert (found.counts["fixed"], found.counts["broken"]) == (fixed, broken)
    assert (found.effect.n, found.effect.gained, found.effect.lost) == (200, fixed, broken)
    assert found.effect.delta == pytest.approx((fixed - broken) / 200)
    assert found.effect.p_value == pytest.approx(mcnemar_p(fixed, broken), rel=1e-9)
    assert found.comparable == "comparable"
    assert found.cost.n == 200


@pytest.mark.parametrize(
    ("complete", "short"),
    [
        ("math.27_gigachat_max", "math.22_vikhr"),
        ("mmlu.27_gigachat_max", "mmlu.22_vikhr"),
        ("mmlu.27_gigachat_max", "mmlu.24_ruadapt"),
    ],
)
def test_a_missing_row_is_a_removed_question_and_not_a_regression(complete, short):
    before, after = russian(complete, "giga@v2"), russian(short, "other@v1")
    found = compare(before, after)
    assert len(found.population.removed) == 1
    assert (found.population.added, found.population.common) == ([], 199)
    assert sum(found.counts.values()) == found.effect.n == 199
    assert found.counts["to_error"] == 0
    assert found.comparable == "not_comparable"
    back = compare(after, before)
    assert (back.population.added, back.population.removed) == (found.population.removed, [])


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(MODELS, 2)))
def test_every_pair_of_models_has_statsmodels_p_value(one, other):
    found = compare(czech(one), czech(other))
    effect = found.effect
    assert effect.n == 4326
    expected = mcnemar_p(effect.gained, effect.lost)
    assert effect.p_value == pytest.approx(expected, rel=1e-9)
    assert effect.gained - effect.lost == found.candidate.correct - found.baseline.correct
    assert (found.counts["fixed"], found.counts["broken"]) == (effect.gained, effect.lost)
    assert effect.interval.low <= effect.bootstrap.high
    assert effect.bootstrap.low == pytest.approx(effect.interval.low, abs=0.002)
    assert effect.bootstrap.high == pytest.approx(effect.interval.high, abs=0.002)
