"""Several judgements of one answer: how they become one verdict."""

from asyncio import gather
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.score import ScoreError, Verdict, Vote


def vote_of(verdict: Verdict, *, judge: str) -> Vote:
    """Return a judgement as a vote. `judge` is the digest of its judge's identity."""
    return Vote(judge=judge, label=verdict.label, reason=verdict.reason, error=verdict.error)


def decided(judgements: Sequence[Verdict], *, judges: Sequence[str], of: int) -> Verdict:
    """Return the verdict of more than half of the votes, or one without a label when there is none.

    `judges` has the digest of each judgement's judge. `of` is how many votes were to be cast: a vote that failed counts
    for nobody, and makes a majority harder, not easier.
    """
    votes = [vote_of(one, judge=judge) for one, judge in zip(judgements, judges, strict=True)]
    counts = Counter(vote.label for vote in votes if vote.label is not None)
    label, most = counts.most_common(1)[0] if counts else (None, 0)
    evidence = {
        "votes": votes,
        "replies": [reply for one in judgements for reply in one.replies],
        "calls": sum(one.calls for one in judgements),
        "usage": summed([one.usage for one in judgements]),
        "cached": all(one.cached for one in judgements),
    }
    if label is not None and 2 * most > of:
        first = next(one for one in judgements if one.label == label)
        reason = f"{most} of {len(votes)} votes: {first.reason}" if len(votes) > 1 else first.reason
        return Verdict(label=label, reason=reason, flags=first.flags, **evidence)
    failed = [one.error for one in judgements if one.error is not None]
    if not counts and failed:
        return Verdict(label=None, error=failed[0], **evidence)
    told = ", ".join(f"{count} × {name}" for name, count in sorted(counts.items()))
    error = ScoreError(
        code="no_majority",
        message=f"No label has more than half of the {of} votes: {told}"
        + (f", {len(failed)} failed." if failed else "."),
    )
    return Verdict(label=None, error=error, **evidence)


async def voted(spec: JudgeSpec, ask: Callable[[], Awaitable[Verdict]], *, judge: str) -> Verdict:
    """Ask as often as the judge's `votes` and `vote_rule` say, and return the verdict."""
    if spec.votes == 1:
        return await ask()
    first: list[Verdict] = []
    if spec.vote_rule == "confirm_on_fail":
        first = [await ask()]
        if first[0].label == "correct":
            return decided(first, judges=[judge], of=1)
    judgements = [*first, *await gather(*(ask() for _ in range(spec.votes - len(first))))]
    return decided(judgements, judges=[judge] * len(judgements), of=spec.votes)


def summed(usages: Sequence[dict[str, int] | None]) -> dict[str, int] | None:
    """Return the sum of token counts by name; None where none was reported."""
    total: Counter[str] = Counter()
    for usage in usages:
        total.update(usage or {})
    return dict(total) or None
