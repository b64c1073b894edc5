import json
from pathlib import Path

import pytest

from bench_assets.catalog.benchmarks import find_benchmark, list_benchmarks, load_benchmark
from bench_assets.errors import InvalidBenchmark

SPEC = """\
name: capitals
version: "1.0"
judge:
  type: exact_match
"""
ROW = '{"id": "q1", "question": "?", "golden": "x"}\n'


def write(folder: Path, spec: str, *, name: str = "benchmark.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(spec, encoding="utf-8")
    (folder / "dataset.jsonl").write_text(ROW, encoding="utf-8")
    return folder


def refusal(folder: Path) -> InvalidBenchmark:
    with pytest.raises(InvalidBenchmark) as caught:
        load_benchmark(folder)
    return caught.value


def test_a_spec_gives_its_defaults_and_its_shards(tmp_path):
    spec = load_benchmark(write(tmp_path, SPEC + "shards: 3\ntimeout_sec: 7\n")).spec
    assert spec.id == "capitals@1.0"
    assert spec.shard_names == ("000", "001", "002")
    assert spec.policy.timeout_sec == 7
    assert spec.policy.retries == 1


def test_a_json_spec_reads_like_a_yaml_one(tmp_path):
    values = {"name": "capitals", "version": "1.0", "judge": {"type": "exact_match"}}
    assert load_benchmark(write(tmp_path, json.dumps(values), name="benchmark.json")).spec.id == "capitals@1.0"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("name: b\nversion: 1.10\njudge: {type: exact_match}\n", 2, ["`version: 1.10`", 'version: "1.10"', "1.1"]),
        ('name: no\nversion: "1"\njudge: {type: exact_match}\n', 1, ["`name: no`", "boolean", 'name: "no"']),
        ('name: 007\nversion: "1"\njudge: {type: exact_match}\n', 1, ["`name: 007`", "number"]),
        ('name: b\nversion: "1"\nversion: "2"\njudge: {type: exact_match}\n', 3, ["`version` twice", "line 2"]),
        (SPEC + "speed: 3\n", 5, ["`speed`", "not a key"]),
        (SPEC + "shards: 0\n", 5, ["`shards`"]),
        (SPEC + "  tolerence: 1\n", 3, ["tolerence"]),
        ('name: b\nversion: "1"\njudge:\n  type: llm\n', 3, ["`model`"]),
        (SPEC + "dataset: ../../etc/passwd\n", 5, ["leads out"]),
        (SPEC + "dataset: other.jsonl\n", 5, ["no file"]),
        ("name: [\n", 2, ["not YAML"]),
        ("", None, ["empty"]),
        ("- a\n", 1, ["mapping"]),
        ('name: "../up"\nversion: "1"\njudge: {type: exact_match}\n', 1, ["`name`"]),
    ],
)
def test_a_bad_spec_is_refused_with_file_line_and_reason(tmp_path, text, line, said):
    error = refusal(write(tmp_path, text))
    assert error.line == line
    assert str(error).startswith(str(tmp_path / "benchmark.yaml"))
    for words in said:
        assert words in str(error)


def test_a_version_that_json_makes_a_number_is_refused(tmp_path):
    error = refusal(
        write(tmp_path, '{"name": "b",\n "version": 1.10,\n "judge": {"type": "exact_match"}}', name="benchmark.json")
    )
    assert error.line == 2
    assert 'version: "1.10"' in str(error)


def test_a_date_stays_the_text_it_was_written_as(tmp_path):
    folder = write(tmp_path, "name: b\nversion: 2026-11-29\njudge: {type: exact_match}\n")
    assert load_benchmark(folder).spec.version == "2026-11-29"


def test_a_tag_that_would_run_code_is_refused_and_runs_nothing(tmp_path):
    mark = tmp_path / "ran"
    error = refusal(write(tmp_path / "b", f'name: !!python/object/apply:os.system ["touch {mark}"]\n'))
    assert error.line == 1
    assert "!!python/object/apply:os.system" in str(error)
    assert not mark.exists()


def test_aliases_of_aliases_do_not_take_for_ever(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    assert refusal(write(tmp_path, "\n".join(lines))).path


def test_two_specs_in_one_folder_are_refused(tmp_path):
    write(tmp_path, SPEC)
    assert "keep one" in str(refusal(write(tmp_path, "{}", name="benchmark.json")))


def test_a_benchmark_is_found_by_name_and_version_only_where_it_belongs(tmp_path):
    write(tmp_path / "capitals" / "1.0", SPEC)
    write(tmp_path / "towns" / "1.0", SPEC)
    write(tmp_path / "broken" / "1.0", "name: [")
    assert find_benchmark(tmp_path, "capitals@1.0").spec.id == "capitals@1.0"
    good, faults = list_benchmarks(tmp_path)
    assert [benchmark.spec.id for benchmark in good] == ["capitals@1.0"]
    assert len(faults) == 2
    with pytest.raises(InvalidBenchmark, match=r"no benchmark `capitals@1\.1`.*capitals@1\.0"):
        find_benchmark(tmp_path, "capitals@1.1")
    with pytest.raises(InvalidBenchmark, match="rename the folder"):
        find_benchmark(tmp_path, "towns@1.0")
    for name in ("capitals", "@1", "../capitals@1.0"):
        with pytest.raises(InvalidBenchmark):
            find_benchmark(tmp_path, name)


def test_our_own_benchmarks_are_valid():
    good, faults = list_benchmarks(Path(__file__).parents[2] / "benchmarks")
    assert {benchmark.spec.judge.is_matcher for benchmark in good} == {True, False}
    assert faults == []
