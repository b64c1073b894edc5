from pathlib import Path

import pytest

from bench_assets.catalog import dataset
from bench_assets.catalog.benchmarks import Benchmark, load_benchmark
from bench_assets.catalog.dataset import check_dataset, dataset_digest, read_questions
from bench_assets.catalog.meta import DatasetMeta
from bench_assets.errors import InvalidBenchmark

LLM = "{type: llm, model: m}"


def benchmark(folder: Path, data: bytes, *, judge: str = "{type: contains}", extra: str = "") -> Benchmark:
    (folder / "dataset.jsonl").write_bytes(data)
    (folder / "benchmark.yaml").write_text(f'name: b\nversion: "1"\njudge: {judge}\n{extra}', encoding="utf-8")
    return load_benchmark(folder)


def test_only_line_feeds_split_rows(tmp_path):
    data = (
        b"\xef\xbb\xbf"
        + '{"id": "q1", "question": "line one\u2028line two\x85", "golden": "x"}\r\n'.encode()
        + b'\r\n   \n{"id": "q2", "question": "?", "golden": "y"}'
    )
    found = benchmark(tmp_path, data)
    assert check_dataset(found).rows == 2
    assert [question.question for question in read_questions(found)] == ["line one\u2028line two\x85", "?"]


def test_fields_can_have_other_names_and_goldens_can_be_several(tmp_path):
    found = benchmark(
        tmp_path,
        b'{"id": 7, "problem": "?", "target": ["a", 12], "meta": {"topic": "t"}, "note": 1}\n',
        extra="question_key: problem\ngolden_key: target\n",
    )
    (question,) = read_questions(found)
    assert (question.id, question.golden, question.meta) == ("7", ["a", "12"], {"topic": "t"})


def test_texts_that_look_like_nothing_stay_texts(tmp_path):
    rows = "".join(
        f'{{"id": "{n}", "question": "?", "golden": "{text}"}}\n' for n, text in enumerate(["NA", "00123", "None"])
    )
    assert [q.golden for q in read_questions(benchmark(tmp_path, rows.encode()))] == ["NA", "00123", "None"]


@pytest.mark.parametrize(
    ("rows", "line", "said"),
    [
        (
            '{"id":"1","question":"A?","golden":"a"}\n\n{"id":"1","question":"B?","golden":"b"}\n',
            3,
            ["`1`", "line 1", "line 3"],
        ),
        ('{"id":"1","question":"A?","golden":"a"}\n{"id":1,"question":"B?","golden":"b"}\n', 2, ["`1`", "line 1"]),
        ('{"id":"1","question":"A?"}\n', 1, ["no `golden`"]),
        ('{"id":"1","golden":"a"}\n', 1, ["no `question`"]),
        ('{"question":"A?","golden":"a"}\n', 1, ["no `id`"]),
        ('{"id":"1","question":"A?","golden":""}\n', 1, ["`golden` is empty", "contains"]),
        ('{"id":"1","question":"A?","golden":["a"," "]}\n', 1, ["`golden` is empty"]),
        ('{"id":"1","question":"A?","golden":[]}\n', 1, ["empty list"]),
        ('{"id":"1","question":" ","golden":"a"}\n', 1, ["`question` is empty"]),
        ('{"id":"1","question":"A?","golden":1.10}\n', 1, ["`golden` must be text"]),
        ('{"id":"1","question":"A?","golden":null}\n', 1, ["`golden` must be text", "null"]),
        ('{"id":"1","question":"A?","golden":NaN}\n', 1, ["not JSON"]),
        ('{"id":"1","question":"A?","question":"B?","golden":"a"}\n', 1, ["twice"]),
        ('{"id":"1","question":"A?","golden":"a","meta":[1]}\n', 1, ["`meta`"]),
        ('["1"]\n', 1, ["object"]),
        ('{"id":"1","question":"A?","golden":"a"}\n{"id":"2","que', 2, ["torn"]),
        ("\n \n", None, ["no rows"]),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_reason(tmp_path, rows, line, said):
    with pytest.raises(InvalidBenchmark) as caught:
        check_dataset(benchmark(tmp_path, rows.encode()))
    assert caught.value.line == line
    assert "dataset.jsonl" in str(caught.value)
    for words in said:
        assert words in str(caught.value)


def test_a_line_torn_inside_a_character_is_refused_with_its_line(tmp_path):
    with pytest.raises(InvalidBenchmark, match=r"dataset\.jsonl:1: .*not UTF-8"):
        check_dataset(benchmark(tmp_path, b'{"id":"1","question":"\xd0'))


def test_an_empty_golden_is_fine_where_a_judge_decides(tmp_path):
    rows = b'{"id":"1","question":"A?","golden":""}\n'
    assert check_dataset(benchmark(tmp_path, rows, judge=LLM)).rows == 1


def rows(*texts: str) -> bytes:
    return "".join(f'{{"id": "q{n}", "question": "{text}", "golden": "y"}}\n' for n, text in enumerate(texts)).encode()


def test_rows_are_chosen_by_their_numbers_and_blank_lines_have_none(tmp_path):
    found = benchmark(tmp_path, b"\xef\xbb\xbf\n" + rows("a", "b").replace(b"\n", b"\n  \n\n") + rows("c"))
    assert [one.question for one in read_questions(found, rows={0, 2})] == ["a", "c"]
    assert [one.question for one in read_questions(found, rows=range(1, 3))] == ["b", "c"]
    assert [one.question for one in read_questions(benchmark(tmp_path, rows("a", "b")), rows={1})] == ["b"]


def test_a_row_that_is_not_chosen_is_not_looked_into(tmp_path):
    found = benchmark(tmp_path, rows("a") + b"not JSON\n" + rows("c"))
    assert [one.question for one in read_questions(found, rows={0, 2})] == ["a", "c"]
    with pytest.raises(InvalidBenchmark):
        list(read_questions(found, rows={1}))


def test_a_dataset_is_hashed_once_and_again_after_a_change(tmp_path, monkeypatch):
    hashed = []
    digest = dataset._digest
    monkeypatch.setattr(dataset, "_digest", lambda path: (hashed.append(path), digest(path))[1])
    monkeypatch.setattr(dataset, "SETTLED_NS", 0)
    path = benchmark(tmp_path, rows("a")).dataset
    first = dataset_digest(path)
    assert dataset_digest(path) == first
    assert len(hashed) == 1
    path.write_bytes(rows("bb"))
    assert dataset_digest(path) != first
    assert len(hashed) == 2


def test_a_file_that_was_written_a_moment_ago_is_hashed_each_time(tmp_path):
    path = benchmark(tmp_path, rows("a")).dataset
    found = {dataset_digest(path)}
    for text in "bcdefgh":  # of equal size, and possibly within one tick of the file system's clock
        path.write_bytes(rows(text))
        found.add(dataset_digest(path))
    assert len(found) == 8


def test_meta_is_found_by_question_without_being_held(tmp_path):
    data = (
        rows("plain")
        + b'{"id": "m1", "question": "?", "golden": "y", "meta": {"topic": "a"}}\n\n'
        + b'{"id": "m2", "question": "the \\"meta\\" of it", "golden": "y", "meta": {}}\n'
        + b'{"id": "m3", "question": "?", "golden": "y", "m\\u0065ta": {"topic": "b"}}\n'
    )
    meta = DatasetMeta(benchmark(tmp_path, data))
    assert dict(meta) == {"m1": {"topic": "a"}, "m3": {"topic": "b"}}
    assert list(meta.values()) == [{"topic": "a"}, {"topic": "b"}]
    assert (len(meta), "q0" in meta, "m3" in meta) == (2, False, True)
    assert meta.get("m2") is None
