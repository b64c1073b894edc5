"""Step 0: the benchmark, checked before anything is spent."""

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import DatasetFacts, check_dataset
from bench_assets.judging.matchers import golden_fault


def check_benchmark(benchmark: Benchmark) -> DatasetFacts:
    """Read every row, with an eye for what its judge needs. Raises InvalidBenchmark, with file and line."""
    return check_dataset(benchmark, golden_fault=golden_fault)
