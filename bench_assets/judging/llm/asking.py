"""One answer before the judge: calls, pauses and retries until there is a verdict or a named failure."""

import asyncio
from dataclasses import dataclass, field

from bench_assets.contracts.base import JsonValue, clean_text
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.contracts.score import ScoreError, Verdict
from bench_assets.errors import JudgeFailed
from bench_assets.judging.endpoint import JudgeEndpoint
from bench_assets.judging.llm.budget import Budget, BudgetSpent
from bench_assets.judging.llm.client import JudgeClient
from bench_assets.judging.llm.contradiction import CONTRADICTION, contradicts
from bench_assets.judging.llm.failures import CallFailed
from bench_assets.judging.llm.parsing import ParsedVerdict, ReplyFault, parse_reply
from bench_assets.judging.llm.pausing import Pause, PausedTooLong, backoff
from bench_assets.judging.llm.prompt import RESPONSE_FORMAT, messages
from bench_assets.judging.llm.reply import Reply, read_reply
from bench_assets.judging.scorer import JudgeItem


@dataclass
class _Case:
    """What has happened to one answer so far."""

    calls: int = 0
    failures: int = 0
    """Requests of the budget that are spent."""
    limited: int = 0
    """How often it was told to wait."""
    waited: float = 0.0
    """Seconds spent waiting because the endpoint asked to."""
    replies: list[str] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)


class Judge:
    """Asks one endpoint about any number of answers at once. Belongs to one event loop."""

    def __init__(self, spec: JudgeSpec, endpoint: JudgeEndpoint, *, budget: Budget) -> None:
        self._spec = spec
        self._budget = budget
        self._redact = endpoint.redact
        self._pause = Pause()
        self._client = JudgeClient(spec, endpoint)
        # Whether the endpoint takes a schema is found out by the first request and kept.
        self._schema = "response_format" not in endpoint.params
        self._refused: JudgeFailed | None = None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def verdict(self, item: JudgeItem) -> Verdict:
        """Return the verdict on an answer, or one without a label that says why.

        Raises JudgeFailed when the endpoint would refuse every request.
        """
        case = _Case()
        request = messages(self._spec, question=item.question, golden=item.golden, answer=item.answer)
        while True:
            try:
                found = await self._ask(case, request, answer=item.answer)
            except PausedTooLong as pause:
                return self._failed(
                    case,
                    ScoreError(
                        code=pause.code,
                        message=f"The judge's endpoint asks to wait {pause.seconds:.0f} s more, which is past "
                        f"`max_wait={self._spec.max_wait:g}` s for one answer.",
                    ),
                )
            if isinstance(found, Verdict):
                return found
            if found is not None and case.failures > self._spec.retries:
                return self._failed(case, found)

    async def _ask(self, case: _Case, request: list[dict[str, str]], *, answer: str) -> Verdict | ScoreError | None:
        """Make one call. Returns a verdict, what failed, or None when the next call costs no budget."""
        case.waited += await self._pause.over(at_most=self._spec.max_wait - case.waited)
        if self._refused is not None:
            raise JudgeFailed(str(self._refused))
        extra: dict[str, JsonValue] = {"response_format": RESPONSE_FORMAT} if self._schema else {}
        try:
            reserved = self._budget.reserve(
                model=self._spec.model or "",
                characters=sum(len(message["content"]) for message in request),
                max_tokens=self._spec.max_tokens,
            )
        except BudgetSpent as limit:
            message = f"The scoring's budget is spent: {limit}. Raise it and judge again; what was judged is kept."
            return self._failed(case, ScoreError(code="budget", message=message))
        case.calls += 1
        try:
            reply = read_reply(await self._client.complete(request, extra=extra))
        except CallFailed as failure:
            return await self._after(case, failure)
        reserved.settle(reply.usage)
        for name, count in reply.usage.items():
            case.usage[name] = case.usage.get(name, 0) + count
        if reply.content is not None:
            case.replies.append(self._redact(clean_text(reply.content)))
        outcome = _read(reply, answer=answer)
        if isinstance(outcome, ParsedVerdict):
            flags = [CONTRADICTION] if contradicts(outcome.label, outcome.reason) else []
            return Verdict(label=outcome.label, reason=self._redact(outcome.reason), flags=flags, **_evidence(case))
        error = ScoreError(code=outcome.code, message=self._redact(outcome.message))
        if outcome.code == "judge_empty:content_filter":  # the same texts meet the same filter again
            return self._failed(case, error)
        case.failures += 1
        return error

    async def _after(self, case: _Case, failure: CallFailed) -> Verdict | ScoreError | None:
        error = ScoreError(code=failure.code, message=self._redact(failure.message))
        if failure.kind == "stop":
            self._refused = JudgeFailed(
                f"The judge `{self._spec.model}` cannot be asked. {error.message.rstrip('.')}. "
                "Put that right and judge again; the answers are kept."
            )
            raise self._refused
        if failure.kind == "format":
            self._schema = False
            return None
        if failure.kind == "never":
            return self._failed(case, error)
        if failure.kind == "wait":
            case.limited += 1
            if failure.wait is None:
                wait = backoff(case.limited, first=max(self._spec.retry_backoff_sec, 0.1))
            else:  # an endpoint that says 0 s again and again is not asked in a tight loop
                wait = max(failure.wait, 0.1 * case.limited)
            self._pause.extend(wait, code=failure.code)
            return None
        case.failures += 1
        if case.failures <= self._spec.retries:
            if failure.wait is not None:
                self._pause.extend(failure.wait, code=failure.code)
            await asyncio.sleep(backoff(case.failures, first=self._spec.retry_backoff_sec))
        return error

    def _failed(self, case: _Case, error: ScoreError) -> Verdict:
        return Verdict(label=None, error=error, **_evidence(case))


def _evidence(case: _Case) -> dict[str, JsonValue]:
    return {"replies": case.replies, "calls": case.calls, "usage": case.usage or None}


def _read(reply: Reply, *, answer: str) -> ParsedVerdict | ReplyFault:
    if reply.content is None:
        words = f" It refused: {reply.refusal}" if reply.refusal else ""
        return ReplyFault("no_content", f"The judge sent no text (it stopped for `{reply.finish_reason}`).{words}")
    found = parse_reply(reply.content, answer=answer)
    if isinstance(found, ReplyFault) and found.code == "judge_empty":
        return ReplyFault(
            f"judge_empty:{reply.finish_reason}",
            f"The judge sent an empty text (it stopped for `{reply.finish_reason}`).",
        )
    if isinstance(found, ReplyFault) and reply.finish_reason == "length":
        return ReplyFault("truncated", f"The judge ran into its token limit. {found.message}")
    return found
