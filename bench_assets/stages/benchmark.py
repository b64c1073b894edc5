"""Step 0: the benchmark, checked before anything is spent."""

from pathlib import Path

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.catalog.dataset import DatasetFacts, check_dataset, dataset_digest, read_questions
from bench_assets.errors import InvalidBenchmark
from bench_assets.judging.matchers import golden_fault

_found: dict[tuple[Path, str, str], DatasetFacts] = {}
"""What the last pass of this process found: by the spec's file, the spec's digest and the dataset's."""


def check_benchmark(benchmark: Benchmark) -> DatasetFacts:
    """Read every row, with an eye for what its judge and its gate need. Raises InvalidBenchmark, with file and line.

    A command checks before it builds anything, and the plan checks what it freezes; the same content is read once.
    """
    try:
        content = (benchmark.path, benchmark.spec_digest, dataset_digest(benchmark.dataset))
    except OSError:
        return _check(benchmark)
    if content not in _found:
        facts = _check(benchmark)
        if facts.digest != content[2]:  # it changes while it is read
            return facts
        _found.clear()
        _found[content] = facts
    return _found[content]


def _check(benchmark: Benchmark) -> DatasetFacts:
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
