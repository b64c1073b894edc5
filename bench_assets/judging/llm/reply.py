"""Takes the judge's text out of an endpoint's response."""

import json
from dataclasses import dataclass

from bench_assets.contracts.base import JsonValue
from bench_assets.judging.llm.failures import CallFailed


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply of the model."""

    content: str | None
    """What it said; None when it said nothing at all: a tool call or a refusal."""
    finish_reason: str
    """Why it stopped, in the endpoint's words; `unknown` where it does not say."""
    refusal: str
    """What it said instead of an answer; empty where it did not refuse."""
    usage: dict[str, int]
    """Tokens; empty where the endpoint reports none."""


def read_reply(body: str) -> Reply:
    """Return the first choice of a chat completion. Raises CallFailed for a body that is none."""
    try:
        response = json.loads(body)
    except (ValueError, RecursionError):
        raise CallFailed(
            "bad_response", f"The judge's endpoint sent what is not JSON: `{_start_of(body)}`.", kind="again"
        ) from None
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        words = provider_words(response) or _start_of(body)
        raise CallFailed("bad_response", f"The judge's endpoint sent no chat completion, but `{words}`.", kind="again")
    return Reply(
        content=_text(message.get("content")),
        finish_reason=str(choice.get("finish_reason") or "unknown"),
        refusal=str(message.get("refusal") or ""),
        usage=_usage(response.get("usage")),
    )


def provider_words(body: JsonValue) -> str:
    """Return what an endpoint's error body says, in one line of at most 300 characters; empty where it says nothing."""
    if isinstance(body, dict):
        inner = body.get("error", body.get("detail", body.get("message")))
        body = inner.get("message", inner) if isinstance(inner, dict) else inner
    if body is None:
        return ""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=repr)
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"


def _text(content: JsonValue) -> str | None:
    """Return the message's text, which some endpoints send in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(part for part in parts if isinstance(part, str)) if parts else None
    return None


def _usage(usage: JsonValue) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    return {str(k): v for k, v in usage.items() if isinstance(v, int) and not isinstance(v, bool)}


def _start_of(body: str) -> str:
    return " ".join(body[:200].split()) or "nothing"
