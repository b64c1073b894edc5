"""Finished runs, found by run_id or by candidate and read from their bundles."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from bench_assets.analysis.runs import ObservedRun, observe_run
from bench_assets.catalog.benchmarks import find_benchmark, list_benchmarks
from bench_assets.catalog.dataset import dataset_digest
from bench_assets.catalog.meta import DatasetMeta
from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.assessment import Assessment
from bench_assets.contracts.base import JsonValue, VersionedRecord
from bench_assets.contracts.run import FinishedRun, RunRecord, Summary
from bench_assets.errors import InvalidAgent, InvalidBenchmark, InvalidInput, ObjectMissing, StorageFailed
from bench_assets.stages.records import AnswerFile, ScoreFile, record_key
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle

Kind = TypeVar("Kind", bound=VersionedRecord)


def read_finished(workspace: Workspace, run_id: str) -> tuple[RunRecord, Summary]:
    """Return a finished run's record and figures. Raises InvalidInput for one that is not there or not finished."""
    bundle = RunBundle(workspace.store, run_id)
    run = bundle.run()
    if run is None:
        raise InvalidInput(
            f"There is no finished run `{run_id}` (no {workspace.store.url(bundle.key('run.json'))}). "
            "`bench-assets status` lists the runs there are."
        )
    summary = bundle.summary()
    if summary is None or run.status != "finished":
        raise InvalidInput(
            f"The run `{run_id}` of `{run.candidate}` has no result yet: its status is `{run.status}`. Go on with it: "
            f"bench-assets run --benchmark {run.benchmark} --agent … --resume"
        )
    return run, summary


def read_run(workspace: Workspace, run_id: str, *, pairing: bool = True, named: Iterable[str] = ()) -> ObservedRun:
    """Return a finished run with every execution, and its questions' `meta` where the dataset is still the same.

    `pairing` False is enough for a run that is held against no other: then only the `named` questions can be asked for
    one by one. Raises InvalidInput as `read_finished`, and for files that do not belong together.
    """
    run, summary = read_finished(workspace, run_id)
    bundle = RunBundle(workspace.store, run_id)
    return observe_run(
        run,
        summary,
        answers=AnswerFile(workspace.store, bundle.key("answers.jsonl")),
        scores=ScoreFile(workspace.store, bundle.key("scores.jsonl")),
        meta=_meta(workspace, run),
        pairing=pairing,
        named=named,
    )


def _meta(workspace: Workspace, run: RunRecord) -> Mapping[str, Mapping[str, JsonValue]] | None:
    """Return the dataset's `meta`, by question id; None when the dataset is gone or no longer the run's."""
    try:
        benchmark = find_benchmark(workspace.project.benchmarks, run.benchmark)
        if dataset_digest(benchmark.dataset) != run.dataset_digest:
            return None
        return DatasetMeta(benchmark)
    except (InvalidBenchmark, OSError):
        return None


def folder_of(benchmark: str, asset: str) -> str:
    """Return where an asset of `name@version` is stored."""
    name, _, version = benchmark.partition("@")
    return f"{name}/{version}/{asset}"


def newest_run(workspace: Workspace, *, benchmark: str, candidate: str) -> FinishedRun | None:
    """Return a candidate's newest run with figures; None without one."""
    return _finished(workspace, record_key(folder_of(benchmark, "summary"), partition=candidate, suffix=".json"))


def newest_runs(workspace: Workspace, benchmark: str) -> Iterator[FinishedRun]:
    """Yield each candidate's newest run with figures."""
    for key in workspace.store.list(folder_of(benchmark, "summary") + "/"):
        found = _finished(workspace, key)
        if found is not None:
            yield found


def _finished(workspace: Workspace, key: str) -> FinishedRun | None:
    try:
        return _record(workspace, key, FinishedRun)
    except ObjectMissing:
        return None


def _record(workspace: Workspace, key: str, kind: type[Kind]) -> Kind:
    source = workspace.store.url(key)
    try:
        return kind.from_json(json.loads(workspace.store.read(key)), source=source)
    except ValueError as error:
        raise StorageFailed(f"{source} is not JSON ({error}). Materialize it again, or delete it.") from error


def assessment_of(workspace: Workspace, *, benchmark: str, candidate: str) -> Assessment | None:
    """Return what `comparison` stored of a candidate; None when it was never materialized."""
    key = record_key(folder_of(benchmark, "comparison"), partition=candidate, suffix=".json")
    try:
        return _record(workspace, key, Assessment)
    except ObjectMissing:
        return None


def assessments(workspace: Workspace, benchmark: str) -> Iterator[Assessment]:
    """Yield what `comparison` stored, of every candidate."""
    for key in workspace.store.list(folder_of(benchmark, "comparison") + "/"):
        yield _record(workspace, key, Assessment)


def find_run(workspace: Workspace, name: str, *, benchmark: str | None = None) -> str:
    """Return the run_id that a person means: a run_id, or a candidate, whose newest run on `benchmark` is taken.

    `benchmark` may be None where the candidate has runs on one benchmark only. Raises InvalidInput with what there is.
    """
    if is_candidate(name):
        return newest_run_of(workspace, name, benchmark=benchmark)
    there = read_finished(workspace, name)[0].benchmark
    if benchmark not in (None, there):
        raise InvalidInput(f"The run `{name}` is one of `{there}`, not of `{benchmark}`.")
    return name


def newest_run_of(workspace: Workspace, name: str, *, benchmark: str | None = None) -> str:
    """Return the run_id of a candidate's newest run; see `find_run`."""
    among = [benchmark] if benchmark is not None else benchmark_names(workspace)
    found = {one: run for one in among if (run := newest_run(workspace, benchmark=one, candidate=name)) is not None}
    if len(found) > 1:
        listed = ", ".join(f"`{one}`" for one in found)
        raise InvalidInput(f"`{name}` has runs on {listed}. Say which one with --benchmark.")
    if not found:
        where = f" on `{benchmark}`" if benchmark is not None else ""
        candidates = sorted({run.candidate for one in among for run in newest_runs(workspace, one)})
        known = ", ".join(f"`{one}`" for one in candidates) or "none"
        raise InvalidInput(f"`{name}` has no finished run{where}. Candidates that have one: {known}.")
    return next(iter(found.values())).run_id


def benchmark_names(workspace: Workspace) -> list[str]:
    """Return `name@version` of each benchmark of the project."""
    return [one.spec.id for one in list_benchmarks(workspace.project.benchmarks)[0]]


def is_candidate(name: str) -> bool:
    """Return whether a name is a candidate's key, and no run_id."""
    try:
        CandidateKey.parse(name)
    except InvalidAgent:
        return False
    return True
