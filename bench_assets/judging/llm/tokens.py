"""Tokens that a provider gives for the key, renewed before they run out."""

import asyncio
import json
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from bench_assets.contracts.base import JsonValue
from bench_assets.judging.endpoint import TokenRequest
from bench_assets.judging.llm.failures import CallFailed, FailureKind
from bench_assets.judging.llm.pausing import retry_after
from bench_assets.judging.llm.reply import provider_words
from bench_assets.redaction import Redactor

if TYPE_CHECKING:
    import openai

AHEAD = 60.0
"""Seconds before its end at which a token is renewed."""

USUAL_LIFE = 600.0
"""Seconds for which a token is used whose end the provider does not tell."""


class TokenSource:
    """Holds one token for all requests. Belongs to one event loop."""

    def __init__(self, request: TokenRequest, client: "openai.AsyncOpenAI", *, key: str, redact: Redactor) -> None:
        """`client` carries the requests; `redact` learns each token."""
        self._request = request
        self._client = client
        self._key = key
        self._redact = redact
        self._token = ""
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def token(self, *, refused: str = "") -> str:
        """Return a token, asking for one where there is none, it runs out, or it is the one that was `refused`.

        However many callers wait, one request is made. Raises CallFailed.
        """
        async with self._lock:
            if not self._token or self._token == refused or time.time() > self._until - AHEAD:
                self._token, self._until = await self._fresh()
                self._redact.add(self._token)
            return self._token

    async def _fresh(self) -> tuple[str, float]:
        import openai

        headers = {
            "Authorization": f"Basic {self._key}",
            "RqUID": str(uuid.uuid4()),
            "Content-Type": "application/x-www-form-urlencoded",
        }
        body = urlencode({"scope": self._request.scope}).encode("ascii")
        where = self._request.url
        try:
            async with asyncio.timeout(self._request.timeout):
                text = await self._client.post(where, cast_to=str, content=body, options={"headers": headers})
        except TimeoutError:
            raise CallFailed(
                "auth_timeout", f"{where} gave no token within {self._request.timeout:g} s.", kind="again"
            ) from None
        except openai.APIStatusError as error:
            kind: FailureKind = "again" if error.status_code >= 500 else "stop"
            kind = "wait" if error.status_code == 429 else kind
            words = self._redact(provider_words(error.body)) or "nothing more"
            raise CallFailed(
                f"auth_http_{error.status_code}",
                f"{where} gave no token for the judge's key: it answered {error.status_code}: {words}",
                kind=kind,
                wait=retry_after(error.response.headers),
            ) from None
        except openai.APIConnectionError as error:
            cause = self._redact(" ".join(str(error.__cause__ or error).split()))[:300]
            raise CallFailed("auth_connection", f"{where} was not reached: {cause}", kind="again") from None
        return _read(text, where=where)


def _read(text: str, *, where: str) -> tuple[str, float]:
    try:
        fields: JsonValue = json.loads(text)
    except ValueError:
        fields = None
    token = fields.get("access_token") if isinstance(fields, Mapping) else None
    if not isinstance(token, str) or not token or not (token.isascii() and token.isprintable()):
        raise CallFailed("auth_bad_response", f"{where} answered without an `access_token`.", kind="again")
    until = fields.get("expires_at")
    life = fields.get("expires_in")
    if isinstance(until, int | float) and not isinstance(until, bool):
        return token, until / 1000 if until > 1e11 else float(until)  # some tell milliseconds
    return token, time.time() + (float(life) if isinstance(life, int | float) else USUAL_LIFE)
