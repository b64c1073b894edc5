"""Keeping secrets out of logs, errors and files.

Three questions, three answers:

- Text that may quote a URL or a known secret: `redact_url`, or a `Redactor` that knows the values.
- A variable: `redact_variables` shows a value only when its name is on the allow-list `HARMLESS_VARIABLES`. An unknown
  name may be a secret, so its value stays hidden; deny-lists miss names like COOKIE.
- Settings of a judge: `redact_settings` hides the values of keys that name a secret and of every header; the rest is
  needed to compare runs and stays.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, unquote

from bench_assets.contracts.base import JsonValue

HIDDEN: Final = "***"
"""Stands where a secret was."""

HARMLESS_VARIABLES: Final = frozenset(
    {
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "LC_NUMERIC",
        "LC_TIME",
        "LOGLEVEL",
        "LOG_FORMAT",
        "LOG_LEVEL",
        "MKL_NUM_THREADS",
        "NO_COLOR",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PYTHONASYNCIODEBUG",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONIOENCODING",
        "PYTHONUNBUFFERED",
        "PYTHONUTF8",
        "TERM",
        "TOKENIZERS_PARALLELISM",
        "TZ",
    }
)
"""Variables whose values may be shown and stored. Every other name is shown without its value."""

_SCHEME = r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)"
_USER_INFO = re.compile(
    _SCHEME + r"(?:(?P<user>[^\s/?#\"<>]*)@"  # up to the last `@` of the host part
    r"|[^\s/?#@:\[\"<>]*:(?!\d{1,5}(?:[/?#]|$))[^\s\"<>]*@)"  # a password that holds a raw `/`; a port is not one
)
_QUERY_SECRET = re.compile(
    r"(?P<name>[?&;](?:[\w.-]*(?:token|secret|password|signature|credential|api[_-]?key)|sig|key|auth)=)[^\s&#;\"'<>]+",
    re.IGNORECASE,
)
_AUTHORIZATION = re.compile(r"\b(?P<scheme>Bearer|Basic)(?P<space>\s+)(?P<value>[\w.~+/=-]{3,})", re.IGNORECASE)
_AUTHORIZATION_FIELD = re.compile(
    r"(?P<name>\b(?:proxy-)?authorization\b[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\s\"',;}]+(?: [^\s\"',;}]+)?)",
    re.IGNORECASE,
)

_SECRET_WORD = re.compile(r"(?:^|_)(?:auth|bearer|dsn|jwt|keys?|private|pwd?|session(?:id)?|signature|token)(?:$|_)")
_SECRET_PARTS = ("apikey", "authorization", "cookie", "credential", "passphrase", "passwd", "password", "secret")
_NOT_SECRET = frozenset({"golden_key", "question_key", "key_path", "logit_bias"})
_HEADER_KEYS = frozenset({"headers", "default_headers", "extra_headers", "http_headers", "cookies"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def redact_url(text: str) -> str:
    """Return `text` with the credentials of every URL in it removed: `https://user:pw@host/x` → `https://host/x`.

    The user of an `ssh` URL is part of the address and stays; its password goes. Values of query parameters that name
    a secret become `***`. Text without a URL comes back as it was.
    """
    if "://" in text:
        text = _USER_INFO.sub(_without_user_info, text)
    return _QUERY_SECRET.sub(rf"\g<name>{HIDDEN}", text) if "=" in text else text


def _without_user_info(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["user"]
    if user and scheme.lower().endswith("ssh://"):
        return f"{scheme}{user.partition(':')[0]}@"
    return scheme


def is_secret_name(name: str) -> bool:
    """Say whether a key or a variable of this name usually holds a secret: `api_key`, `PGPASSWORD`, `accessToken`.

    False proves nothing: for variables use the allow-list `HARMLESS_VARIABLES`.
    """
    plain = re.sub(r"[^a-z0-9]+", "_", _CAMEL.sub("_", name).lower())
    joined = plain.replace("_", "")
    return plain not in _NOT_SECRET and (
        _SECRET_WORD.search(plain) is not None
        or any(part in joined for part in _SECRET_PARTS)
        or joined.endswith("token")
    )


class Redactor:
    """Removes secrets from any text: the values it was told, credentials in URLs, and what follows `Bearer`.

    A value is also found percent-encoded, JSON-escaped and in base64. Values of fewer than eight characters are only
    removed where they stand alone, so that a password `a` does not eat every `a`; of fewer than three, never.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.add(*values)

    def add(self, *values: str) -> None:
        """Remember further secret values. Empty ones are ignored."""
        for value in values:
            if value.strip():
                self._values.update(_spellings(value.strip()))
        words = sorted((value for value in self._values if len(value) >= 3), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_expression, words))) if words else None

    def add_variables(self, variables: Mapping[str, str]) -> None:
        """Remember the values of those variables whose names say that they are secret, and passwords inside URLs."""
        for name, value in variables.items():
            if name not in HARMLESS_VARIABLES and is_secret_name(name):
                self.add(value)
            for password in re.findall(r"://[^\s/?#@:]*:([^\s/?#]*)@", value):
                self.add(password)

    def __call__(self, text: str) -> str:
        """Return `text` without the secrets."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        text = _AUTHORIZATION_FIELD.sub(rf"\g<name>{HIDDEN}", redact_url(text))
        return _AUTHORIZATION.sub(_without_token, text)

    def clean(self, value: JsonValue) -> JsonValue:
        """Return JSON values with the secrets removed from every text in them, keys included."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self(str(key)): self.clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        return value


def _without_token(match: re.Match[str]) -> str:
    # `basic` and `bearer` are English words too: a token has a digit, a capital letter or a sign in it.
    if re.fullmatch(r"[a-z]+[.]?|[A-Z][a-z]+", match["value"]):
        return match[0]
    return f"{match['scheme']}{match['space']}{HIDDEN}"


def _spellings(value: str) -> set[str]:
    encoded = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")
    forms = {value, unquote(value), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    forms |= {quote(form, safe="", errors="replace") for form in (value, unquote(value))}
    return {form for form in forms if form} | ({encoded} if len(encoded) >= 8 else set())


def _expression(value: str) -> str:
    return re.escape(value) if len(value) >= 8 else rf"(?<![\w]){re.escape(value)}(?![\w])"


def redact_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return every name with its value when the name is on `HARMLESS_VARIABLES`, else with `***`; sorted by name."""
    return {
        name: redact_url(value) if name in HARMLESS_VARIABLES else HIDDEN for name, value in sorted(variables.items())
    }


def redact_settings(settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return settings of a judge with `***` for secrets, at any depth.

    Hidden are the text values of keys that name a secret (`api_key`, `token`, `password`, `authorization`, …), every
    value of `headers` and `cookies`, and credentials in URLs. None, numbers and booleans under a key that names a
    secret stay, since `max_tokens` and `token_limit` are no secrets; under `headers` only None stays.
    """
    return {str(key): _redacted_setting(str(key), value) for key, value in settings.items()}


def _redacted_setting(key: str, value: JsonValue) -> JsonValue:
    if key.lower().replace("-", "_") in _HEADER_KEYS:
        return _hide(value, numbers=True)
    if is_secret_name(key):
        return _hide(value, numbers=False)
    if isinstance(value, Mapping):
        return redact_settings(value)
    if isinstance(value, list | tuple):
        return [_redacted_setting("", item) for item in value]
    return Redactor()(value) if isinstance(value, str) else value


def _hide(value: JsonValue, *, numbers: bool) -> JsonValue:
    if isinstance(value, Mapping):
        return {str(key): _hide(item, numbers=numbers) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hide(item, numbers=numbers) for item in value]
    if value is None or (isinstance(value, bool | int | float) and not numbers):
        return value
    return HIDDEN
