"""How often a command checks the rows of a benchmark."""

from bench_assets.catalog.benchmarks import load_benchmark
from bench_assets.stages import benchmark as stage
from tests.endtoend.project import UserProject, quiz


def test_the_same_content_is_checked_once_and_other_content_again(tmp_path, monkeypatch):
    passes = []
    check = stage.check_dataset
    monkeypatch.setattr(stage, "check_dataset", lambda *args, **kwargs: passes.append(1) or check(*args, **kwargs))
    project = UserProject(folder=tmp_path, cache=tmp_path / "cache")
    project.benchmark(quiz(3))
    folder = tmp_path / "benchmarks" / "quiz" / "1.0"
    first = stage.check_benchmark(load_benchmark(folder))
    assert stage.check_benchmark(load_benchmark(folder)) == first
    assert len(passes) == 1
    dataset = folder / "dataset.jsonl"
    dataset.write_text(dataset.read_text(encoding="utf-8").replace("word 1", "verb 1"), encoding="utf-8")
    assert stage.check_benchmark(load_benchmark(folder)).digest != first.digest
    spec = folder / "benchmark.yaml"
    spec.write_text(spec.read_text(encoding="utf-8") + "description: another\n", encoding="utf-8")
    stage.check_benchmark(load_benchmark(folder))
    assert len(passes) == 3
