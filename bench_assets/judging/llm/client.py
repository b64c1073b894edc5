"""One call to a judge's endpoint, through the `openai` client. Retries and pauses are ours (`asking.py`)."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.judging.endpoint import JudgeEndpoint
from bench_assets.judging.llm.failures import CallFailed, FailureKind
from bench_assets.judging.llm.pausing import retry_after
from bench_assets.judging.llm.reply import provider_words

if TYPE_CHECKING:
    import openai

STOPPING = frozenset({401, 402, 404})
"""The key is wrong, the account is empty, there is no such model or path: no further request can do better."""

PASSING = frozenset({408, 409, 425})
"""Like the 5xx: the endpoint's trouble of the moment."""

FORMAT_WORDS = ("response_format", "json_schema", "json schema", "structured output")
"""How endpoints name what they do not take."""

NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of a 429 that no waiting cures."""


class JudgeClient:
    """Sends one request at a time a caller, any number at once. Belongs to one event loop; close it there."""

    def __init__(self, spec: JudgeSpec, endpoint: JudgeEndpoint) -> None:
        import openai  # takes a second, and a matcher never needs it

        self._openai = openai
        self._spec = spec
        self._redact = endpoint.redact
        self._where = endpoint.base_url
        self._body = {name: value for name, value in endpoint.params.items() if value is not None}
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.api_key or "none",
            base_url=endpoint.base_url,
            default_headers=dict(endpoint.headers),
            default_query=dict(endpoint.query),
            max_retries=0,
            timeout=spec.timeout,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, messages: list[dict[str, str]], *, extra: Mapping[str, JsonValue]) -> str:
        """Return the response's body. Raises CallFailed, whose text holds no secret.

        `extra` joins the body's parameters.
        """
        openai = self._openai
        request = {"model": self._spec.model, "messages": messages, **self._body, **extra}
        try:
            # The client's own time limit starts anew with each byte; this one is for the call as a whole.
            async with asyncio.timeout(self._spec.timeout):
                # Not `chat.completions.create`: it walks through every message against its types, which takes longer
                # than everything else about a request, and parses a body that `read_reply` wants to see as it came.
                return await self._client.post("/chat/completions", cast_to=str, body=request)
        except (TimeoutError, openai.APITimeoutError):
            limit = f"`timeout={self._spec.timeout:g}` s"
            raise CallFailed(
                "timeout", f"The judge's endpoint {self._where} did not answer within {limit}.", kind="again"
            ) from None
        except openai.APIStatusError as error:
            raise self._refusal(error, formatted="response_format" in extra) from None
        except openai.APIConnectionError as error:
            cause = self._redact(" ".join(str(error.__cause__ or error).split()))[:300]
            raise CallFailed(
                "connection", f"The judge's endpoint {self._where} broke off or was not reached: {cause}", kind="again"
            ) from None

    def _refusal(self, error: "openai.APIStatusError", *, formatted: bool) -> CallFailed:
        status = error.status_code
        words = self._redact(provider_words(error.body)) or "nothing more"
        wait = retry_after(error.response.headers)
        kind: FailureKind = "never"
        if status in STOPPING or (status == 429 and NO_MONEY & {error.code, error.type}):
            kind = "stop"
        elif status == 429:
            kind = "wait"
        elif status >= 500 or status in PASSING:
            kind = "again"
        elif formatted and status in (400, 422) and any(word in words.lower() for word in FORMAT_WORDS):
            kind = "format"
        message = f"The judge's endpoint {self._where} answered {status}: {words}"
        return CallFailed(f"http_{status}", message, kind=kind, wait=wait)
