"""A store of objects: bytes under a key, whole or absent. One layout in a folder and on S3.

`open_store` decides by the URL which one it is; the rest of bench-assets only knows `ObjectStore`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from bench_assets.errors import InvalidInput
from bench_assets.redaction import redact_url
from bench_assets.storage.local import LocalStore
from bench_assets.storage.s3 import S3Store, default_client

__all__ = ["LocalStore", "ObjectStore", "S3Store", "open_store"]

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/")
_BUCKET = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$")
_FORMS = "Write a folder (`./.bench`, `/data/bench`, `file:///data/bench`) or `s3://bucket/prefix`."


class ObjectStore(Protocol):
    """Bytes under keys. A key is segments joined by `/`; what cannot be one raises InvalidInput everywhere.

    Every method raises StorageFailed, with a sentence without credentials, when the store does not do as asked.
    """

    @property
    def root_url(self) -> str:
        """Where the store is, in the form that `open_store` takes."""

    def url(self, key: str) -> str:
        """Where the object of `key` is, as a person would paste it: an absolute path, or `s3://…`."""

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yield the object piece by piece. Raises ObjectMissing when the first piece is asked for."""

    def read(self, key: str) -> bytes:
        """Return the whole object. Raises ObjectMissing."""

    def lines(self, key: str) -> Iterator[bytes]:
        r"""Yield the object's lines without their `\n`, split on nothing else, without holding the whole.

        Raises ObjectMissing when the first line is asked for.
        """

    def write(self, key: str, data: bytes | Iterable[bytes]) -> None:
        """Store the object, whole or not at all. Until it is whole, an older one stays. It is durable on return."""

    def create(self, key: str, data: bytes) -> bool:
        """Store the object only where there is none. Of any number of writers at once exactly one gets True."""

    def exists(self, key: str) -> bool:
        """Return whether there is an object under `key`."""

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin with the text `prefix`, sorted by their characters' numbers."""

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""


def open_store(url: str, *, base: Path, s3_client: Callable[[], Any] | None = None) -> ObjectStore:
    """Return the store at `url`. Nothing is read or written yet.

    Args:
        url: a folder (relative to `base`, absolute, `~/…` or `file:///…`), or `s3://bucket/prefix`.
        base: the folder that relative ones start from.
        s3_client: returns the boto3 client for S3; None means boto3 with its usual variables. Not called for folders.

    Raises:
        InvalidInput: when `url` is neither.
        StorageFailed: when no client can be made from boto3's settings.
    """
    shown = redact_url(url)
    scheme = _SCHEME.match(url)
    if scheme is None:
        if not url.strip() or "\0" in url:
            raise InvalidInput(f"`{url.strip()}` names no store. {_FORMS}")
        return LocalStore(base / Path(url).expanduser())
    kind = scheme[1].lower()
    if kind == "file" and url[5:].startswith("///") and "%00" not in url:
        return LocalStore(unquote(url[7:]))
    if kind == "s3" and url[3:].startswith("//"):
        bucket, _, prefix = url[5:].partition("/")
        if "@" in bucket:
            raise InvalidInput(
                f"The store `{shown}` holds credentials. Leave them out of it: boto3 reads AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or a profile."
            )
        if not _BUCKET.match(bucket):
            raise InvalidInput(f"The store `{shown}` names no bucket. {_FORMS}")
        return S3Store((s3_client or default_client)(), bucket=bucket, prefix=prefix)
    raise InvalidInput(f"`{shown}` is no store that bench-assets can use. {_FORMS}")
