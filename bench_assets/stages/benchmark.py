"""Step 0: the benchmark, checked before anything is spent."""

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import DatasetFacts, check_dataset, read_questions
from bench_assets.errors import InvalidBenchmark
from bench_assets.judging.matchers import golden_fault


def check_benchmark(benchmark: Benchmark) -> DatasetFacts:
    """Read every row, with an eye for what its judge and its gate need. Raises InvalidBenchmark, with file and line."""
    facts = check_dataset(benchmark, golden_fault=golden_fault)
    wanted = set(benchmark.spec.gate.must_pass)
    if wanted and (absent := wanted - {question.id for question in read_questions(benchmark)}):
        listed = ", ".join(f"`{id_}`" for id_ in sorted(absent))
        raise InvalidBenchmark(
            f"`gate.must_pass` names questions that are not in {benchmark.spec.dataset}: {listed}. Correct the ids, or "
            "leave them out",
            path=benchmark.path,
        )
    return facts
