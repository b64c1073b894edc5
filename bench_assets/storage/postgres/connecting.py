"""From a URL to connections, and from a driver's errors to sentences."""

from typing import Any

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from bench_assets.errors import InvalidInput, StorageFailed
from bench_assets.redaction import redact_url

CONNECT_TIMEOUT_SEC = 10

APPLICATION = "bench-assets"
"""How our sessions call themselves in `pg_stat_activity`."""

_DRIVERS = frozenset({"postgresql", "postgres", "postgresql+psycopg2"})

_SILENCE = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A server that went away without a word is noticed after a minute."""

_ONLY_OURS = {"hostaddr": "127.0.0.1", "sslmode": "disable", "gssencmode": "disable", "options": ""}
"""Settings for the embedded server: a person's PGHOSTADDR, PGSSLMODE and the like are about other servers."""


def parse_url(url: str) -> URL:
    """Return a Postgres URL as SQLAlchemy's, with the driver named.

    SQLAlchemy 2.1 reads a plain `postgresql://` as psycopg 3, which we do not use.

    Raises:
        InvalidInput: when `url` is no URL of a Postgres. The password is never shown.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # their texts may quote a part of the password
        parsed = None
    if parsed is None or parsed.drivername not in _DRIVERS:
        shown = f"`{parsed.drivername}://…`" if parsed is not None else "It"
        raise InvalidInput(
            f"BENCH_POSTGRES_URL is not the URL of a Postgres. {shown} cannot be used; write "
            "`postgresql://user:password@host:5432/database`, with special characters of the password percent-encoded."
        ) from None
    return parsed.set(drivername="postgresql+psycopg2")


def engine_for(url: URL, *, embedded: bool) -> Engine:
    """Return an engine; nothing is connected yet."""
    arguments: dict[str, Any] = {
        "connect_timeout": CONNECT_TIMEOUT_SEC,
        "application_name": APPLICATION,
        "client_encoding": "utf8",
        **_SILENCE,
        **(_ONLY_OURS if embedded else {}),
    }
    # What stands in the URL wins over our defaults.
    given = {name: value for name, value in arguments.items() if name not in url.query}
    return create_engine(url, connect_args=given, pool_pre_ping=True, hide_parameters=True)


def place(url: URL) -> str:
    """Return where a database is, without user and password: `host:port`, database `name`."""
    host = url.host or url.query.get("host") or "the local socket"
    return f"`{host}:{url.port or 5432}`, database `{url.database or url.username or ''}`"


def is_lost(error: SQLAlchemyError) -> bool:
    """Return whether there is no connection, or no longer one, so that trying again may help."""
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "pgcode", None)
    return error.connection_invalidated or code is None or code.startswith(("08", "57P"))


def failure(error: SQLAlchemyError, *, action: str, url: URL) -> StorageFailed:
    """Return the sentence for what SQLAlchemy raised while we tried to `action`."""
    original = getattr(error, "orig", None)
    diagnosis = getattr(original, "diag", None)
    said = getattr(diagnosis, "message_primary", None) or str(original or type(error).__name__)
    detail = getattr(diagnosis, "message_detail", None)
    cause = " ".join(f"{said}: {detail}".split() if detail else said.split()).rstrip(".")[:1000]
    if url.password:
        cause = cause.replace(str(url.password), "***")
    what = "Could not connect to" if is_lost(error) else f"Could not {action} in"
    return StorageFailed(f"{what} Postgres at {place(url)}: {redact_url(cause)}.")
