"""Where an LLM judge is asked, and with which secrets."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge
from bench_assets.judging.providers import Provider, provider_of
from bench_assets.redaction import Redactor, redact_url


@dataclass(frozen=True, kw_only=True)
class TokenRequest:
    """How a token is asked for."""

    url: str
    scope: str
    timeout: float
    """Seconds for one request."""


@dataclass(frozen=True, kw_only=True)
class JudgeEndpoint:
    """One endpoint with everything that a request to it needs. Its repr shows no secret."""

    base_url: str
    """Without credentials and query: fit to be shown."""
    query: Mapping[str, str] = field(repr=False)
    """What stood behind the `?` of the address, and what the provider needs; sent along with each request."""
    path: str
    """Behind the base."""
    key_header: str
    """The header that carries the key or the token."""
    key_prefix: str
    """What stands before it."""
    tokens: TokenRequest | None
    """None where the key itself goes along with each request."""
    ca_bundle: str | None
    """A file of certificates to trust; None means the usual ones."""
    api_key: str | None = field(repr=False)
    """None when there is none."""
    missing_key: str | None
    """The variable that should hold the key and does not; None when nothing is missing."""
    headers: Mapping[str, str] = field(repr=False)
    """Sent along with each request; hold the user and password of the address as `Authorization`."""
    params: Mapping[str, JsonValue] = field(repr=False)
    """Body parameters of each request: everything beside the model and the messages."""
    given_secrets: Mapping[str, JsonValue] = field(repr=False)
    """What the environment's overrides gave of secret settings, by name."""
    redact: Redactor = field(repr=False)
    """Takes all of these secrets out of a text."""


def endpoint_of(
    spec: JudgeSpec, *, secret: Mapping[str, JsonValue], environ: Mapping[str, str], need_key: bool
) -> JudgeEndpoint:
    """Return the endpoint of an LLM judge. `secret` holds the overrides that must not stand in the spec.

    Raises InvalidJudge when there is no address, no key, or a value that HTTP cannot carry.
    """
    given = spec if "base_url" not in secret else spec.model_copy(update={"base_url": str(secret["base_url"])})
    provider = provider_of(given)
    url = given.base_url or _variable(environ, provider.base_url_env) or provider.base_url or ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidJudge(
            f"The judge's `base_url` must start with http:// or https:// and name a host; it is `{redact_url(url)}`."
        )
    api_key = _key(spec, provider, secret=secret, environ=environ, need_key=need_key)
    headers = _basic_authorization(parts.netloc.rpartition("@")[0]) | _headers(secret.get("headers"))
    others = {name: value for name, value in secret.items() if name not in ("api_key", "headers", "base_url")}
    hidden = [api_key or "", *_leaves(dict(secret)), *_url_secrets(url)]
    hidden += [value.partition(" ")[2] for value in headers.values()]  # the token of `Bearer …`
    return JudgeEndpoint(
        base_url=parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl(),
        query=_query(spec, provider) | dict(parse_qsl(parts.query)),
        path=provider.path.format(model=quote(spec.model or "", safe="")),
        key_header=provider.key_header,
        key_prefix=provider.key_prefix,
        tokens=_tokens(spec, provider, environ),
        ca_bundle=_ca_bundle(spec, provider, environ),
        api_key=api_key,
        missing_key=(spec.api_key_env or provider.api_key_env) if provider.needs_key and not api_key else None,
        headers=headers,
        params=_params(spec) | others,
        given_secrets=dict(secret),
        redact=Redactor(hidden),
    )


def _basic_authorization(user: str) -> dict[str, str]:
    if not user:
        return {}
    return {"Authorization": "Basic " + base64.b64encode(unquote(user).encode("utf-8", "replace")).decode("ascii")}


def _query(spec: JudgeSpec, provider: Provider) -> dict[str, str]:
    given = {"api-version": spec.api_version} if spec.api_version else {}
    return dict(provider.query) | given


def _tokens(spec: JudgeSpec, provider: Provider, environ: Mapping[str, str]) -> TokenRequest | None:
    if provider.tokens is None:
        return None
    url = spec.oauth_url or provider.tokens.url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidJudge(f"The judge's `oauth_url` must be an http(s) address; it is `{redact_url(url)}`.")
    scope = spec.scope or _variable(environ, provider.tokens.scope_env) or provider.tokens.scope
    return TokenRequest(url=url, scope=scope, timeout=min(spec.timeout, 30.0))


def _ca_bundle(spec: JudgeSpec, provider: Provider, environ: Mapping[str, str]) -> str | None:
    path = spec.ca_bundle or _variable(environ, provider.ca_bundle_env)
    if path and not Path(path).is_file():
        where = "`ca_bundle`" if spec.ca_bundle else f"the variable `{provider.ca_bundle_env}`"
        raise InvalidJudge(f"The judge's certificates in {where} are not there: no file `{path}`.")
    return path or None


def _params(spec: JudgeSpec) -> dict[str, JsonValue]:
    named = {"temperature": spec.temperature, "max_tokens": spec.max_tokens}
    return {name: value for name, value in named.items() if value is not None} | dict(spec.model_extra or {})


def _key(
    spec: JudgeSpec, provider: Provider, *, secret: Mapping[str, JsonValue], environ: Mapping[str, str], need_key: bool
) -> str | None:
    variable = spec.api_key_env or provider.api_key_env
    given = secret.get("api_key")
    if given is not None and not isinstance(given, str):
        raise InvalidJudge("The judge's `api_key` must be text.")
    key = (given or environ.get(variable, "")).strip()
    if not key:
        if need_key and provider.needs_key:
            raise InvalidJudge(
                f"The judge `{spec.model}` at `{spec.provider}` needs a key, and the variable `{variable}` is not set. "
                "Set it (to any text if the endpoint asks for none), or name another variable in `api_key_env`."
            )
        return None
    if not (key.isascii() and key.isprintable()):
        where = "`api_key`" if given else f"the variable `{variable}`"
        raise InvalidJudge(f"The judge's key in {where} holds characters that no HTTP header can carry. Copy it again.")
    return key


def _headers(given: JsonValue) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(value, str | int | float) for value in given.values()):
        raise InvalidJudge("The judge's `headers` must be an object of header names and texts.")
    headers = {str(name).strip(): str(value).strip() for name, value in given.items()}
    for name, value in headers.items():
        if not (name and name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
            raise InvalidJudge(
                "A name in the judge's `headers` is no name of an HTTP header. Use letters, digits, `-`."
            )
        if not (value.isascii() and value.isprintable()):
            raise InvalidJudge(f"The judge's header `{name}` holds characters that no HTTP header can carry.")
    return headers


def _variable(environ: Mapping[str, str], name: str | None) -> str:
    return environ.get(name, "").strip() if name else ""


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value


def _url_secrets(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    yield from parts.netloc.rpartition("@")[0].split(":", 1)
    for _, value in parse_qsl(parts.query):
        yield value
