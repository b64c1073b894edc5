"""The LLM judge as a scorer: many requests at once, verdicts in order."""

import asyncio
import gc
import threading
from collections import deque
from collections.abc import Awaitable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from functools import partial

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.score import JudgeIdentity, Verdict
from bench_assets.errors import JudgeFailed
from bench_assets.judging.endpoint import JudgeEndpoint
from bench_assets.judging.identity import verdict_key
from bench_assets.judging.llm.asking import Judge
from bench_assets.judging.llm.budget import Budget
from bench_assets.judging.llm.lanes import Lanes
from bench_assets.judging.llm.voting import voted
from bench_assets.judging.scorer import JudgeItem, Scorer
from bench_assets.judging.verdicts import VerdictStore

AHEAD = 8
"""Items taken ahead, as a multiple of `concurrency`: one slow verdict at the head must not starve the rest."""

CLOSED = "The judge was closed while it was asked. Judge again; the answers are kept."


@dataclass(frozen=True, eq=False)
class _Judgement:
    """One that is under way."""

    key: str
    item: JudgeItem
    waiting: list[Future[Verdict]]
    """Who is told."""


class LlmScorer(Scorer):
    """Asks an LLM from an event loop in a thread of its own, so that it works wherever it is called from."""

    def __init__(
        self,
        spec: JudgeSpec,
        endpoint: JudgeEndpoint,
        identity: JudgeIdentity,
        *,
        verdicts: VerdictStore | None,
        budget: Budget,
    ) -> None:
        """`verdicts` keeps what was judged; None judges everything anew. `budget` may be shared with other judges."""
        self.identity = identity
        self._spec = spec
        self._endpoint = endpoint
        self._verdicts = verdicts
        self._budget = budget
        self._under_way: dict[str, _Judgement] = {}
        """By its key: the same content twice at once is one judgement, paid once."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def score(self, items: Iterable[JudgeItem]) -> Iterator[tuple[JudgeItem, Verdict]]:
        """Yield each item with its verdict, in order. Raises JudgeFailed when the endpoint refuses every request."""
        loop = self._started()
        ahead: deque[tuple[JudgeItem, Future[Verdict]]] = deque()
        most = max(32, AHEAD * self._spec.concurrency)
        try:
            for item in items:
                ahead.append((item, self._verdict(item, loop)))
                while ahead and (len(ahead) >= most or ahead[0][1].done()):
                    first, verdict = ahead.popleft()
                    yield first, self._result(verdict)
            while ahead:
                first, verdict = ahead.popleft()
                yield first, self._result(verdict)
        finally:
            for _, verdict in ahead:
                verdict.cancel()

    def close(self) -> None:
        """Drop what is under way and end the thread."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._over.set)
        thread.join(timeout=10.0)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._thread is None:
            ready: Future[asyncio.AbstractEventLoop] = Future()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._serve(ready)), name="bench-assets-judge", daemon=True
            )
            self._thread.start()
            self._loop = ready.result(timeout=60.0)
        assert self._loop is not None
        return self._loop

    async def _serve(self, ready: "Future[asyncio.AbstractEventLoop]") -> None:
        """Hold the loop open until the scorer is closed, then cancel what is under way."""
        try:
            self._over = asyncio.Event()
            self._lanes = Lanes[Verdict](self._spec.concurrency)
            self._votings: set[asyncio.Task[Verdict]] = set()
            self._judge = Judge(self._spec, self._endpoint, budget=self._budget)
        except BaseException as error:
            ready.set_exception(error)
            return
        # What is there now stays. Looking through all of it for garbage stops every call for a tenth of a second.
        gc.freeze()
        ready.set_result(asyncio.get_running_loop())
        try:
            await self._over.wait()
        finally:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._judge.close()
            with self._lock:
                left = [verdict for judgement in self._under_way.values() for verdict in judgement.waiting]
                self._under_way.clear()
            for verdict in left:
                verdict.cancel()

    def _verdict(self, item: JudgeItem, loop: asyncio.AbstractEventLoop) -> "Future[Verdict]":
        """Return a verdict that is kept, that somebody waits for already, or that is to be asked for."""
        verdict: Future[Verdict] = Future()
        key = self._key(item) if self._verdicts is not None else f"{id(verdict)}"
        with self._lock:
            if key in self._under_way:
                self._under_way[key].waiting.append(verdict)
                return verdict
            # After the look at those under way: a verdict is kept before it leaves them.
            kept = self._verdicts.get(key) if self._verdicts is not None else None
            if kept is not None:
                verdict.set_result(_kept(kept))
                return verdict
            judgement = self._under_way[key] = _Judgement(key, item, [verdict])
        try:
            loop.call_soon_threadsafe(self._begin, judgement)
        except RuntimeError:  # the loop is closed
            raise JudgeFailed(CLOSED) from None
        return verdict

    def _key(self, item: JudgeItem) -> str:
        return verdict_key(self.identity, question=item.question, golden=item.golden, answer=item.answer)

    def _result(self, verdict: "Future[Verdict]") -> Verdict:
        """Wait for a verdict; its own time limits end the wait, and so does the end of the thread that makes it."""
        while True:
            try:
                return verdict.result(timeout=1.0)
            except NotYet:
                if verdict.done():  # it ended just now, or with a time-out of its own
                    return verdict.result()
                if self._thread is None or not self._thread.is_alive():
                    raise JudgeFailed(CLOSED) from None
            except CancelledError:
                raise JudgeFailed(CLOSED) from None

    # In the loop's thread

    def _begin(self, judgement: _Judgement) -> None:
        if self._spec.votes == 1:
            self._lanes.start(lambda: self._asked(judgement), partial(self._judged, judgement))
        else:
            voting = asyncio.ensure_future(voted(self._spec, lambda: self._vote(judgement), judge=self.identity.digest))
            self._votings.add(voting)
            voting.add_done_callback(self._votings.discard)
            voting.add_done_callback(partial(self._voted, judgement))

    def _asked(self, judgement: _Judgement) -> Awaitable[Verdict] | None:
        """Ask, unless nobody waits for it any more: then it is over, and later ones with its key begin anew."""
        with self._lock:
            if all(verdict.cancelled() for verdict in judgement.waiting):
                self._end(judgement)
                return None
        return self._judge.verdict(judgement.item)

    def _vote(self, judgement: _Judgement) -> Awaitable[Verdict]:
        vote: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()

        def call() -> Awaitable[Verdict] | None:
            asked = self._asked(judgement)
            if asked is None:
                vote.cancel()
            return asked

        self._lanes.start(call, partial(_settle, vote))
        return vote

    def _voted(self, judgement: _Judgement, voting: "asyncio.Future[Verdict]") -> None:
        if voting.cancelled():
            self._judged(judgement, asyncio.CancelledError())
        else:
            self._judged(judgement, voting.exception() or voting.result())

    def _judged(self, judgement: _Judgement, outcome: Verdict | BaseException) -> None:
        if self._verdicts is None or isinstance(outcome, BaseException) or outcome.label is None:
            self._tell(judgement, outcome)
            return
        # Nobody is told of a verdict that a power cut could take back.
        try:
            keeping = self._verdicts.put(judgement.key, outcome)
        except Exception as error:
            self._tell(judgement, error)
            return
        keeping.add_done_callback(lambda kept: self._tell(judgement, kept.exception() or outcome))

    def _tell(self, judgement: _Judgement, outcome: Verdict | BaseException) -> None:
        """Tell everyone who waits; in whatever thread it became known."""
        with self._lock:
            self._end(judgement)
        for number, verdict in enumerate(judgement.waiting):
            if isinstance(outcome, asyncio.CancelledError):
                verdict.cancel()
            elif not verdict.set_running_or_notify_cancel():
                continue
            elif isinstance(outcome, BaseException):
                verdict.set_exception(outcome)
            else:
                verdict.set_result(_kept(outcome) if number else outcome)

    def _end(self, judgement: _Judgement) -> None:
        if self._under_way.get(judgement.key) is judgement:
            del self._under_way[judgement.key]


def _settle(vote: "asyncio.Future[Verdict]", outcome: Verdict | BaseException) -> None:
    if vote.done():
        return
    if isinstance(outcome, asyncio.CancelledError):
        vote.cancel()
    elif isinstance(outcome, BaseException):
        vote.set_exception(outcome)
    else:
        vote.set_result(outcome)


def _kept(verdict: Verdict) -> Verdict:
    return verdict.model_copy(update={"cached": verdict.label is not None, "calls": 0, "usage": None})
