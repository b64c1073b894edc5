"""Chooses the questions of a run."""

import hashlib
from collections.abc import Iterable
from heapq import nsmallest
from itertools import islice

from bench_assets.contracts.plan import Selection
from bench_assets.errors import InvalidPlan


def select(
    ids: Iterable[str], *, rows: int, limit: int | None, sample: int | None, seed: int, repetitions: int
) -> Selection:
    """Choose among `rows` questions whose `ids` come in the dataset's order.

    `sample` first, then `limit`: the sample is drawn from all rows, put back into the dataset's order, and its first
    `limit` are taken. A sample is the questions whose SHA-256 of `seed:id` is smallest, so a seed gives the same
    questions for ever: on any machine, under any Python, after rows were reordered or other ones edited.

    Raises InvalidPlan when more is to be sampled than there is.
    """
    if sample is not None and sample > rows:
        raise InvalidPlan(f"sample={sample} was asked, but the benchmark has {rows} questions. Ask for at most {rows}.")
    chosen: list[str] | None = None
    if sample is not None:
        ranked = nsmallest(sample, enumerate(ids), key=lambda row: _rank(seed, row[1]))
        chosen = [identity for _, identity in sorted(ranked)]
        ids = chosen
    if limit is not None:
        chosen = list(islice(ids, limit))
    return Selection(
        limit=limit,
        sample=sample,
        seed=seed,
        repetitions=repetitions,
        ids=chosen,
        questions=rows if chosen is None else len(chosen),
    )


def _rank(seed: int, identity: str) -> bytes:
    return hashlib.sha256(f"{seed}:{identity}".encode()).digest()
