"""Can two runs be held against each other? Every condition that they do not share, by name."""

from collections.abc import Iterable, Iterator

from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.benchmark import ExecutionPolicy
from bench_assets.contracts.comparison import Area, Comparable, Difference, Population, Weight
from bench_assets.contracts.run import RunRecord
from bench_assets.errors import InvalidAgent

ORDER: tuple[Weight, ...] = ("blocks", "note", "intended")


def conditions(baseline: RunRecord, candidate: RunRecord, population: Population) -> list[Difference]:
    """Return every difference between the conditions of two runs, those that block first."""
    found = [
        *_benchmark(baseline, candidate, population),
        *_population(population),
        *_selection(baseline, candidate),
        *_scoring(baseline, candidate),
        *_execution(baseline, candidate),
        *_environment(baseline, candidate),
        *_agent(baseline, candidate),
    ]
    return sorted(found, key=lambda difference: ORDER.index(difference.weight))


def comparable(differences: Iterable[Difference]) -> Comparable:
    """Return what a list of differences comes to."""
    weights = {difference.weight for difference in differences}
    if "blocks" in weights:
        return "not_comparable"
    return "comparable_with_notes" if "note" in weights else "comparable"


def _difference(
    area: Area, name: str, baseline: JsonValue, candidate: JsonValue, *, weight: Weight = "note", message: str = ""
) -> Iterator[Difference]:
    if baseline != candidate:
        yield Difference(
            area=area,
            name=name,
            baseline=baseline,
            candidate=candidate,
            weight=weight,
            message=message or f"`{name}` was `{_short(baseline)}` and is `{_short(candidate)}`.",
        )


def _short(value: JsonValue) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _benchmark(baseline: RunRecord, candidate: RunRecord, population: Population) -> Iterator[Difference]:
    one, other = baseline.benchmark.partition("@"), candidate.benchmark.partition("@")
    message = f"The runs are of different benchmarks: `{baseline.benchmark}` and `{candidate.benchmark}`."
    if one[0] != other[0]:
        yield from _difference("benchmark", "name", one[0], other[0], weight="blocks", message=message)
    elif population.same:
        yield from _difference("benchmark", "version", one[2], other[2], message=message)
    else:
        yield from _difference("population", "benchmark version", one[2], other[2], weight="blocks", message=message)


def _population(population: Population) -> Iterator[Difference]:
    lists: tuple[tuple[str, list[str], Weight, str], ...] = (
        ("removed", population.removed, "blocks", "asked of the baseline and not of the candidate"),
        ("edited questions", population.edited_questions, "blocks", "with another text"),
        ("edited goldens", population.edited_goldens, "blocks", "with another golden"),
        ("added", population.added, "note", "asked of the candidate only"),
    )
    for name, ids, weight, what in lists:
        message = f"Left out: {len(ids)} question{'' if len(ids) == 1 else 's'} {what} ({some(ids)})."
        yield from _difference("population", name, 0, len(ids), weight=weight, message=message)
    if population.common == 0:
        message = "The runs have no question in common, so nothing can be compared."
        yield from _difference("population", "common", None, 0, weight="blocks", message=message)


def some(ids: list[str], *, most: int = 5) -> str:
    """Return the first few ids as text, and how many more there are."""
    rest = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(f"`{id_}`" for id_ in ids[:most]) + rest


def _selection(baseline: RunRecord, candidate: RunRecord) -> Iterator[Difference]:
    one, other = baseline.selection, candidate.selection
    for name in ("limit", "sample", "seed"):
        if name != "seed" or one.sample is not None or other.sample is not None:
            yield from _difference("selection", name, getattr(one, name), getattr(other, name))
    fewer = min(one.repetitions, other.repetitions)
    message = (
        f"Questions were asked {one.repetitions} times and {other.repetitions} times; the first {fewer} "
        f"repetition{'s' if fewer > 1 else ''} of each run {'are' if fewer > 1 else 'is'} compared."
    )
    yield from _difference("selection", "repetitions", one.repetitions, other.repetitions, message=message)


def _scoring(baseline: RunRecord, candidate: RunRecord) -> Iterator[Difference]:
    one, other = baseline.judge_identity, candidate.judge_identity
    if one is None or other is None:
        if one is not other:
            which = baseline if one is None else candidate
            message = f"Nothing was judged in the run of `{which.candidate}`."
            judges = [judge.digest if judge else None for judge in (one, other)]
            yield from _difference("scoring", "judge", judges[0], judges[1], message=message)
        return
    if one.digest == other.digest:
        return
    before, after = one.to_json(), other.to_json()
    names = [name for name in before if name != "digest" and before[name] != after[name]]
    message = (
        f"The answers were scored in different ways ({', '.join(f'`{name}`' for name in names)} differ). Score one of "
        "the runs again with the other's judge."
    )
    yield from _difference("scoring", "judge", one.digest, other.digest, weight="blocks", message=message)


def _execution(baseline: RunRecord, candidate: RunRecord) -> Iterator[Difference]:
    for name in ExecutionPolicy.model_fields:
        one, other = baseline.policy.to_json()[name], candidate.policy.to_json()[name]
        yield from _difference("execution", name, one, other)
    for name in ("agent_env", "bench_assets_version", "bench_assets_commit"):
        yield from _difference("execution", name, getattr(baseline, name), getattr(candidate, name))
    yield from _difference(
        "execution", "env_overrides", sorted(baseline.env_overrides), sorted(candidate.env_overrides)
    )


def _environment(baseline: RunRecord, candidate: RunRecord) -> Iterator[Difference]:
    one, other = baseline.environment, candidate.environment
    yield from _difference("environment", "python", one.python, other.python)
    yield from _difference("environment", "platform", one.platform, other.platform)
    worker = one.worker.tree or one.worker.requirement, other.worker.tree or other.worker.requirement
    yield from _difference("environment", "worker", *worker)
    sources = [[source.requirement for source in (item.source, *item.extra_deps)] for item in (one, other)]
    weight: Weight = "intended" if sources[0] != sources[1] or one.source.tree != other.source.tree else "note"
    message = "The installed packages differ; `environment.lock` lists them."
    yield from _difference(
        "environment", "lock", one.lock_digest[:12], other.lock_digest[:12], weight=weight, message=message
    )


def _agent(baseline: RunRecord, candidate: RunRecord) -> Iterator[Difference]:
    names = ("candidate", "agent_source", "commit", "agent_entry_point", "agent_import_path", "agent_extra_deps")
    for name in (*names, "describe"):
        yield from _difference("agent", name, getattr(baseline, name), getattr(candidate, name), weight="intended")
    message = "Only one of the two was built from exactly what its commit holds."
    yield from _difference("agent", "dirty", baseline.dirty, candidate.dirty, message=message)
    one, other = baseline.environment.source.tree, candidate.environment.source.tree
    yield from _difference("agent", "files", (one or "")[:12], (other or "")[:12], weight="intended")
    weight: Weight = "intended" if _variant(baseline) != _variant(candidate) else "note"
    yield from _difference("agent", "kwargs", baseline.kwargs, candidate.kwargs, weight=weight)


def _variant(run: RunRecord) -> str | None:
    try:
        return CandidateKey.parse(run.candidate).variant
    except InvalidAgent:
        return None
