"""The LLM judge as a scorer: many requests at once, verdicts in order."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.score import JudgeIdentity, Verdict
from bench_assets.errors import JudgeFailed
from bench_assets.judging.endpoint import JudgeEndpoint
from bench_assets.judging.identity import verdict_key
from bench_assets.judging.llm.asking import Judge
from bench_assets.judging.llm.budget import Budget
from bench_assets.judging.llm.voting import voted
from bench_assets.judging.scorer import JudgeItem, Scorer
from bench_assets.judging.verdicts import VerdictStore

AHEAD = 8
"""Items taken ahead, as a multiple of `concurrency`: one slow verdict at the head must not starve the rest."""

CLOSED = "The judge was closed while it was asked. Judge again; the answers are kept."


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
        self._under_way: dict[str, asyncio.Task[Verdict]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def score(self, items: Iterable[JudgeItem]) -> Iterator[tuple[JudgeItem, Verdict]]:
        """Yield each item with its verdict, in order. Raises JudgeFailed when the endpoint refuses every request."""
        loop = self._started()
        ahead: deque[tuple[JudgeItem, Future[Verdict]]] = deque()
        most = max(32, AHEAD * self._spec.concurrency)
        try:
            for item in items:
                ahead.append((item, self._begun(item, loop)))
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
            self._slots = asyncio.Semaphore(self._spec.concurrency)
            self._judge = Judge(self._spec, self._endpoint, budget=self._budget)
        except BaseException as error:
            ready.set_exception(error)
            return
        ready.set_result(asyncio.get_running_loop())
        try:
            await self._over.wait()
        finally:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._judge.close()

    def _begun(self, item: JudgeItem, loop: asyncio.AbstractEventLoop) -> "Future[Verdict]":
        if self._verdicts is not None:
            # A kept verdict needs no task: ten thousand of them are a matter of a second.
            kept = self._verdicts.get(self._key(item))
            if kept is not None:
                done: Future[Verdict] = Future()
                done.set_result(_kept(kept))
                return done
        if loop.is_closed():
            raise JudgeFailed(CLOSED)
        return asyncio.run_coroutine_threadsafe(self._judged(item), loop)

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

    async def _judged(self, item: JudgeItem) -> Verdict:
        if self._verdicts is None:
            return await self._asked(item)
        key = self._key(item)
        # The same content twice at once is one judgement: paid once, and the same for both.
        task = self._under_way.get(key)
        if task is not None:
            return _kept(await asyncio.shield(task))
        task = self._under_way[key] = asyncio.ensure_future(self._looked_up(key, item, self._verdicts))
        task.add_done_callback(lambda done: self._over_with(key, done))
        return await asyncio.shield(task)  # whoever stops waiting does not stop what others wait for

    def _over_with(self, key: str, task: "asyncio.Task[Verdict]") -> None:
        self._under_way.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen, so that asyncio does not complain when nobody waits for it any more

    async def _looked_up(self, key: str, item: JudgeItem, verdicts: VerdictStore) -> Verdict:
        kept = verdicts.get(key)
        if kept is not None:
            return _kept(kept)
        verdict = await self._asked(item)
        if verdict.label is not None:  # nobody is told of a verdict that a power cut could take back
            await asyncio.wrap_future(verdicts.put(key, verdict))
        return verdict

    async def _asked(self, item: JudgeItem) -> Verdict:
        return await voted(self._spec, lambda: self._asked_once(item), judge=self.identity.digest)

    async def _asked_once(self, item: JudgeItem) -> Verdict:
        async with self._slots:
            return await self._judge.verdict(item)


def _kept(verdict: Verdict) -> Verdict:
    return verdict.model_copy(update={"cached": verdict.label is not None, "calls": 0, "usage": None})
