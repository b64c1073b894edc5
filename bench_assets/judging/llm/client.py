"""One call to a judge's endpoint, through the `openai` client. Retries and pauses are ours (`asking.py`)."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bench_assets.contracts.base import JsonValue, dump_json
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge
from bench_assets.judging.endpoint import JudgeEndpoint
from bench_assets.judging.llm.failures import CallFailed, FailureKind
from bench_assets.judging.llm.pausing import retry_after
from bench_assets.judging.llm.reply import provider_words
from bench_assets.judging.llm.tokens import TokenSource

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


ABOUT_THIS_MACHINE = (
    *("X-Stainless-Lang", "X-Stainless-Package-Version", "X-Stainless-OS", "X-Stainless-Arch", "X-Stainless-Async"),
    *("X-Stainless-Runtime", "X-Stainless-Runtime-Version", "X-Stainless-Retry-Count", "X-Stainless-Read-Timeout"),
)
"""Headers of the client that are left out."""


class JudgeClient:
    """Sends one request at a time a caller, any number at once. Belongs to one event loop; close it there."""

    def __init__(self, spec: JudgeSpec, endpoint: JudgeEndpoint) -> None:
        """Raises InvalidJudge for certificates that cannot be read."""
        import openai  # takes a second, and a matcher never needs it

        self._openai = openai
        self._spec = spec
        self._endpoint = endpoint
        self._redact = endpoint.redact
        self._where = endpoint.base_url
        # Whole, so that the client need not put it together for each call.
        self._url = f"{endpoint.base_url.rstrip('/')}/{endpoint.path.lstrip('/')}"
        self._body = {name: value for name, value in endpoint.params.items() if value is not None}
        self._client = openai.AsyncOpenAI(
            api_key=endpoint.api_key or "none",
            base_url=endpoint.base_url,
            # What the client would tell of this machine concerns no endpoint, and costs a tenth of each call.
            default_headers={name: openai.Omit() for name in ABOUT_THIS_MACHINE} | dict(endpoint.headers),  # type: ignore[arg-type]
            default_query=dict(endpoint.query),
            max_retries=0,
            timeout=None,  # each call has one for the whole of it
            # Takes half the time of the usual transport, whose pool looks at all connections for every request.
            http_client=openai.DefaultAioHttpClient(verify=_certificates(endpoint)),
        )
        self._tokens = (
            TokenSource(endpoint.tokens, self._client, key=endpoint.api_key or "", redact=endpoint.redact)
            if endpoint.tokens is not None
            else None
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, messages: list[dict[str, str]], *, extra: Mapping[str, JsonValue]) -> str:
        """Return the response's body. Raises CallFailed, whose text holds no secret.

        `extra` joins the body's parameters. A token that was refused is renewed once.
        """
        request = {"model": self._spec.model, "messages": messages, **self._body, **extra}
        formatted = "response_format" in extra
        if self._tokens is None:
            return await self._send(request, key=self._endpoint.api_key, formatted=formatted)
        token = await self._tokens.token()
        try:
            return await self._send(request, key=token, formatted=formatted)
        except CallFailed as failure:
            if failure.code != "http_401":
                raise
        return await self._send(request, key=await self._tokens.token(refused=token), formatted=formatted)

    async def _send(self, request: dict[str, JsonValue], *, key: str | None, formatted: bool) -> str:
        openai = self._openai
        try:
            # The client's own time limit starts anew with each byte; this one is for the call as a whole.
            async with asyncio.timeout(self._spec.timeout):
                # Not `chat.completions.create`: it walks through every message against its types, which takes longer
                # than everything else about a request, and parses a body that `read_reply` wants to see as it came.
                return await self._client.post(
                    self._url,
                    cast_to=str,
                    content=dump_json(request),
                    options={"headers": {"Content-Type": "application/json", **self._key_headers(key)}},
                )
        except TimeoutError:
            limit = f"`timeout={self._spec.timeout:g}` s"
            raise CallFailed(
                "timeout", f"The judge's endpoint {self._where} did not answer within {limit}.", kind="again"
            ) from None
        except openai.APIStatusError as error:
            raise self._refusal(error, formatted=formatted) from None
        except openai.APIConnectionError as error:  # its time-outs too: the transport calls a refused connection so
            cause = self._redact(" ".join(str(error.__cause__ or error).split()))[:300]
            raise CallFailed(
                "connection", f"The judge's endpoint {self._where} broke off or was not reached: {cause}", kind="again"
            ) from None

    def _key_headers(self, key: str | None) -> dict[str, "str | openai.Omit"]:
        given = self._endpoint.headers
        if any(name.lower() == self._endpoint.key_header.lower() for name in given):
            return {}
        if self._endpoint.key_header == "Authorization":
            return {"Authorization": f"{self._endpoint.key_prefix}{key or 'none'}"}
        others = (
            {} if any(name.lower() == "authorization" for name in given) else {"Authorization": self._openai.Omit()}
        )
        return {**others, self._endpoint.key_header: f"{self._endpoint.key_prefix}{key}"}

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


def _certificates(endpoint: JudgeEndpoint) -> ssl.SSLContext | bool:
    if endpoint.ca_bundle is None:
        return True
    try:
        return ssl.create_default_context(cafile=endpoint.ca_bundle)
    except (OSError, ssl.SSLError) as error:
        raise InvalidJudge(f"The judge's certificates in `{endpoint.ca_bundle}` cannot be used: {error}.") from error
