"""What is new in a repository, compared with what is remembered of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from bench_assets.analysis.versions import version_order
from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.watch import Watch
from bench_assets.errors import InvalidAgent
from bench_assets.watching.memory import DIGITS, SeenAgent, SeenBranch, SeenTag

TAGS, HEADS = "refs/tags/", "refs/heads/"

LONGEST = 200
"""Characters of a candidate's key: it is a file's name in the storage, where 255 bytes are the limit."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A version to be planned."""

    agent: str
    candidate: str
    """The partition key."""
    commit: str
    """Full id."""
    benchmarks: tuple[str, ...]
    run_key: str
    """Tells this request from all others; also from one for the same tag after it moved away and back."""
    reason: str
    """A sentence for the log."""


@dataclass(kw_only=True)
class News:
    """What one agent's repository has."""

    seen: SeenAgent
    """To be remembered."""
    found: list[Found] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a person should know and nothing is done about."""


def news_of(
    agent: str, watch: Watch, *, refs: Mapping[str, str], seen: SeenAgent | None, epoch: str, now: float
) -> News:
    """Compare a repository's refs (`refs/tags/v1` → commit) with what was seen. Oldest version first.

    `seen` None means that this is the first look; `now` is in seconds since 1970.
    """
    news = News(seen=SeenAgent(scope=watch.scope))
    look = _Look(agent=agent, watch=watch, epoch=epoch, news=news)
    if watch.tags is not None:
        look.tags(refs, seen)
    if watch.branch is not None:
        look.branch(watch.branch, refs, seen, now=now)
    return news


@dataclass(frozen=True, kw_only=True)
class _Look:
    agent: str
    watch: Watch
    epoch: str
    news: News

    def tags(self, refs: Mapping[str, str], seen: SeenAgent | None) -> None:
        there = self._watched(refs)
        before = seen.tags if seen else {}
        unfamiliar = seen is None or seen.scope != self.watch.scope
        remembered = self.news.seen.tags
        for number, (tag, commit) in enumerate(there):
            old = before.get(tag)
            short = commit[:DIGITS]
            if old is None:
                remembered[tag] = SeenTag(commit=short)
                newest = number == len(there) - 1
                if not unfamiliar or self.watch.existing == "all" or (newest and self.watch.existing == "newest"):
                    self._found(tag, commit, moves=0, reason=f"new tag `{tag}`")
            elif old.commit != short:
                remembered[tag] = SeenTag(commit=short, moves=old.moves + 1)
                what = f"tag `{tag}` moved from {old.commit} to {short}, which makes a new run"
                self._found(tag, commit, moves=old.moves + 1, reason=what)
            else:
                remembered[tag] = old.model_copy(update={"gone": False})
        for tag, old in before.items():
            if tag not in remembered:
                if not old.gone and f"{TAGS}{tag}" not in refs:
                    self.news.notes.append(f"`{self.agent}`: tag `{tag}` was deleted; what it gave stays")
                remembered[tag] = old.model_copy(update={"gone": True})

    def branch(self, branch: str, refs: Mapping[str, str], seen: SeenAgent | None, *, now: float) -> None:
        commit = refs.get(HEADS + branch)
        old = seen.branches.get(branch) if seen else None
        if commit is None:
            self.news.notes.append(f"`{self.agent}`: there is no branch `{branch}`")
            if old is not None:
                self.news.seen.branches[branch] = old
            return
        if old is None:
            # Without `existing` the commit that is there now counts as asked for.
            requested = commit if self.watch.existing == "none" else None
            old = SeenBranch(commit=commit, since=now, requested=requested)
        elif old.commit != commit:
            old = old.model_copy(update={"commit": commit, "since": now})
        if old.requested != commit and now - old.since >= self.watch.quiet_sec:
            self._found(commit, commit, moves=old.moves, reason=f"branch `{branch}` is at {commit[:DIGITS]}")
            old = old.model_copy(update={"requested": commit, "moves": old.moves + 1})
        self.news.seen.branches[branch] = old

    def _watched(self, refs: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return the tags of interest and their commits, the oldest version first."""
        assert self.watch.tags is not None
        named = {name.removeprefix(TAGS): commit for name, commit in refs.items() if name.startswith(TAGS)}
        chosen = [(tag, commit) for tag, commit in named.items() if fnmatchcase(tag, self.watch.tags)]
        if self.watch.since is not None:
            oldest = version_order(self.watch.since)
            chosen = [pair for pair in chosen if not version_order(pair[0]) < oldest]
        return sorted(chosen, key=lambda pair: (version_order(pair[0]), pair[0]))

    def _found(self, ref: str, commit: str, *, moves: int, reason: str) -> None:
        candidate = self._candidate(ref)
        if candidate is None:
            return
        self.news.found.append(
            Found(
                agent=self.agent,
                candidate=candidate,
                commit=commit,
                benchmarks=tuple(self.watch.benchmarks),
                run_key=f"{candidate}:{commit[:DIGITS]}:{self.epoch}:{moves}",
                reason=f"`{self.agent}`: {reason}",
            )
        )

    def _candidate(self, ref: str) -> str | None:
        """Return the key, which holds any character in an encoded form; None where it can be none."""
        key = CandidateKey(agent=self.agent, ref=ref)
        try:
            read = CandidateKey.parse(str(key))
        except InvalidAgent:
            read = None
        if read != key or len(key.segment) > LONGEST:
            self.news.notes.append(f"`{self.agent}`: `{ref}` is left out, as no partition can have that name")
            return None
        return str(key)
