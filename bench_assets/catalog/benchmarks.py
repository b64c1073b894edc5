"""Finds and reads benchmarks: `benchmarks/<name>/<version>/benchmark.yaml`."""

import re
from dataclasses import dataclass
from pathlib import Path

from bench_assets.catalog.documents import Document, DocumentFault, read_document, validate
from bench_assets.contracts.base import digest
from bench_assets.contracts.benchmark import BenchmarkSpec
from bench_assets.errors import InvalidBenchmark

SPEC_NAMES = ("benchmark.yaml", "benchmark.yml", "benchmark.json")


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A benchmark's spec, and where it lies. Its rows are not read yet."""

    spec: BenchmarkSpec
    path: Path
    """The spec's file."""
    dataset: Path
    """The dataset's file; inside the spec's folder."""

    @property
    def spec_digest(self) -> str:
        """SHA-256 of the spec's canonical JSON, so that comments and the order of keys do not count."""
        return digest(self.spec.to_json())


def spec_file(place: Path) -> Path:
    """Return the spec's file for a folder or a file. Raises InvalidBenchmark when there is none, or more than one."""
    if place.is_file():
        return place
    if not place.is_dir():
        raise InvalidBenchmark("there is no such file or folder", path=place)
    found = [place / name for name in SPEC_NAMES if (place / name).is_file()]
    if not found:
        raise InvalidBenchmark("holds no benchmark.yaml and no benchmark.json", path=place)
    if len(found) > 1:
        raise InvalidBenchmark(
            f"holds {' and '.join(path.name for path in found)}; keep one, or they may contradict each other",
            path=place,
        )
    return found[0]


def load_benchmark(place: Path) -> Benchmark:
    """Read the spec in a folder (or a spec's file). Raises InvalidBenchmark with file and line."""
    path = spec_file(place)
    try:
        document = read_document(path)
        spec = validate(BenchmarkSpec, document.values, document)
    except DocumentFault as fault:
        raise InvalidBenchmark(fault.message, path=path, line=fault.line) from fault
    return Benchmark(spec=spec, path=path, dataset=_dataset(path, spec, document))


def _dataset(path: Path, spec: BenchmarkSpec, document: Document) -> Path:
    folder = path.parent.resolve()
    line = document.lines.get(("dataset",))
    dataset = (folder / spec.dataset).resolve()
    if not dataset.is_relative_to(folder):
        raise InvalidBenchmark(
            f"`dataset: {spec.dataset}` leads out of the benchmark's folder; put the file beside the spec",
            path=path,
            line=line,
        )
    if not dataset.is_file():
        raise InvalidBenchmark(f"`dataset: {spec.dataset}` names no file in `{folder}`", path=path, line=line)
    return dataset


def list_benchmarks(folder: Path) -> tuple[list[Benchmark], list[InvalidBenchmark]]:
    """Return the benchmarks under `folder`, sorted by name and version, and a fault for each that cannot be used."""
    good: dict[str, Benchmark] = {}
    faults: list[InvalidBenchmark] = []
    for place in sorted({path.parent for name in SPEC_NAMES for path in folder.glob(f"*/*/{name}")}):
        try:
            benchmark = _in_its_place(load_benchmark(place), place)
            _refuse_the_same_name(benchmark, good.setdefault(_identifier(benchmark), benchmark))
        except InvalidBenchmark as fault:
            faults.append(fault)
    return list(good.values()), faults


def _identifier(benchmark: Benchmark) -> str:
    """Return what Dagster makes of the name for its steps, which hold letters, digits and `_` only."""
    return re.sub(r"[^A-Za-z0-9]", "_", f"{benchmark.spec.name}__{benchmark.spec.version}")


def _refuse_the_same_name(benchmark: Benchmark, other: Benchmark) -> None:
    if other is not benchmark:
        raise InvalidBenchmark(
            f"is `{benchmark.spec.id}`, which Dagster cannot tell from `{other.spec.id}`, as only `.`, `_` or `-` "
            "differ; rename one of the two",
            path=benchmark.path,
        )


def _in_its_place(benchmark: Benchmark, place: Path) -> Benchmark:
    expected = (place.parent.name, place.name)
    if (benchmark.spec.name, benchmark.spec.version) != expected:
        raise InvalidBenchmark(
            f"is `{benchmark.spec.id}`, but lies in the folder of `{expected[0]}@{expected[1]}`; "
            "rename the folder or the benchmark",
            path=benchmark.path,
        )
    return benchmark


def find_benchmark(folder: Path, name: str) -> Benchmark:
    """Return the benchmark that is called `name@version`. Raises InvalidBenchmark, with those there are."""
    title, at, version = name.partition("@")
    if not (title and at and version):
        raise InvalidBenchmark(f"`{name}` names no benchmark; write `name@version`")
    place = folder / title / version
    if place.parent.parent == folder and any((place / spec).is_file() for spec in SPEC_NAMES):
        return _in_its_place(load_benchmark(place), place)
    known = ", ".join(benchmark.spec.id for benchmark in list_benchmarks(folder)[0]) or "none"
    raise InvalidBenchmark(f"there is no benchmark `{name}` in `{folder}`; those there are: {known}")
