"""All candidates of a benchmark, ranked, or in the order of their versions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench_assets.analysis.many import holm
from bench_assets.analysis.versions import VersionOrder, candidate_order
from bench_assets.contracts.comparison import Comparison
from bench_assets.contracts.gate import Verdict
from bench_assets.contracts.leaderboard import Leaderboard, Standing
from bench_assets.contracts.run import RunRecord, Summary
from bench_assets.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Entry:
    """One candidate's newest finished run, as far as a table needs it."""

    run: RunRecord
    summary: Summary
    verdict: Verdict | None = None
    """What its gate said; None when it was not asked."""
    comparison: Comparison | None = None
    """Against the common baseline; None for the baseline itself, and where nothing was compared."""


def corrected_p_values(comparisons: Mapping[str, Comparison]) -> dict[str, float]:
    """Return Holm-corrected p-values by candidate, of comparisons with one baseline run.

    Raises InvalidInput when they are not all with the same baseline. Comparisons without a common question are left
    out.
    """
    if len(baselines := {one.baseline.run_id for one in comparisons.values()}) > 1:
        raise InvalidInput(
            f"Only comparisons with one baseline are corrected together; these are with {len(baselines)}: "
            f"{', '.join(sorted(baselines))}."
        )
    return holm({key: one.effect.p_value for key, one in comparisons.items() if one.effect is not None})


def leaderboard(benchmark: str, *, entries: Iterable[Entry], known: Iterable[str] = ()) -> Leaderboard:
    """Return the candidates of `benchmark`, best accuracy first; `known` ones without a run are listed as missing."""
    rows = list(entries)
    compared = {row.run.candidate: row.comparison for row in rows if row.comparison is not None}
    standings = _standings(rows, corrected_p_values(compared))
    standings.sort(key=lambda one: (one.accuracy is None, -(one.accuracy or 0.0), one.candidate))
    return Leaderboard(
        benchmark=benchmark,
        baseline=next((one.baseline.candidate for one in compared.values()), None),
        standings=standings,
        missing=sorted(set(known) - {row.run.candidate for row in rows}),
    )


def history(entries: Iterable[Entry]) -> list[Standing]:
    """Return the standings by agent and version: branches and commits first, by time, then releases."""
    rows = list(entries)
    compared = {row.run.candidate: row.comparison for row in rows if row.comparison is not None}
    same_baseline = len({one.baseline.run_id for one in compared.values()}) <= 1
    standings = _standings(rows, corrected_p_values(compared) if same_baseline else {})
    return sorted(standings, key=_place)


def _place(one: Standing) -> tuple[str, VersionOrder, str]:
    return one.candidate.partition("@")[0], candidate_order(one.candidate, time=one.start_time or ""), one.run_id


def _standings(rows: list[Entry], p_values: Mapping[str, float]) -> list[Standing]:
    populations = Counter(_population(row.run) for row in rows)
    usual = max(populations, key=lambda key: populations[key], default=None)
    made: list[Standing] = []
    for row in rows:
        effect = row.comparison.effect if row.comparison else None
        latency = row.summary.latency_ms
        made.append(
            Standing(
                candidate=row.run.candidate,
                run_id=row.run.run_id,
                accuracy=row.summary.accuracy,
                interval=row.summary.interval,
                questions=row.summary.questions,
                repetitions=row.summary.repetitions,
                errors=row.summary.errors,
                coverage=row.summary.coverage,
                latency_p50_ms=latency.p50 if latency else None,
                partial=row.summary.partial,
                same_questions=_population(row.run) == usual,
                start_time=row.run.start_time,
                verdict=row.verdict,
                delta=effect.delta if effect else None,
                p_value=p_values.get(row.run.candidate),
                compared=effect.n if effect else None,
            )
        )
    return made


def _population(run: RunRecord) -> tuple[str, tuple[str, ...] | None]:
    ids = run.selection.ids
    return run.dataset_digest, None if ids is None else tuple(sorted(ids))
