"""Objects in an S3 bucket, or in anything that speaks its protocol."""

import io
import mimetypes
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from bench_assets.errors import ObjectMissing, StorageFailed
from bench_assets.redaction import redact_url
from bench_assets.storage.keys import PIECE, check_key, check_prefix, split_lines

IN_MEMORY = 8 << 20
"""Bytes of a stream that are kept in memory before they go to a temporary file."""

ONE_PUT = 64 << 20
"""Objects above this many bytes go up in parts; like a PUT, they appear whole or not at all."""

READ_ATTEMPTS = 4
"""How often a broken response is taken up again where it broke, before reading is given up."""

_EXPLAINED = {
    "NoSuchBucket": "there is no such bucket",
    "AccessDenied": "these credentials may not do that",
    "403": "these credentials may not do that",
    "InvalidAccessKeyId": "the endpoint does not know this access key",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key",
    "ExpiredToken": "the session token has expired",
    "PreconditionFailed": "it was replaced while it was read",
}


def default_client() -> Any:
    """Return boto3's client for S3, from its usual places.

    The variables are boto3's: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_PROFILE,
    AWS_ENDPOINT_URL. With an endpoint of one's own boto3 writes the bucket into the path by itself. Endpoints that
    refuse its checksums need AWS_REQUEST_CHECKSUM_CALCULATION=when_required.

    Raises:
        StorageFailed: when boto3's settings contradict each other.
    """
    import boto3
    from botocore.config import Config

    with told("reach", "S3"):
        # A session of its own: boto3's shared one is not for threads, and keeps the first credentials it found.
        return boto3.Session().client(
            "s3",
            config=Config(
                connect_timeout=10,
                read_timeout=60,
                max_pool_connections=32,
                retries={"mode": "standard", "total_max_attempts": 5},
            ),
        )


class S3Store:
    """Objects under `prefix` in `bucket`. Safe for threads, as boto3's clients are.

    `create` needs an endpoint that honours `If-None-Match: *`, as AWS and SeaweedFS do; one that ignores the header
    would let two writers both believe that they were first.
    """

    def __init__(self, client: Any, *, bucket: str, prefix: str = "") -> None:
        """`client` is a boto3 client for S3; nothing is asked of it yet. `prefix` stands before every key."""
        self.bucket = bucket
        self.prefix = check_prefix(prefix.strip("/"))
        self._client = client
        self._base = f"{self.prefix}/" if self.prefix else ""

    @property
    def root_url(self) -> str:
        """`s3://bucket/prefix`, which `open_store` reads back."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def url(self, key: str) -> str:
        """Return `s3://bucket/prefix/key`."""
        return f"s3://{self.bucket}/{self._base}{check_key(key)}"

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yield the object piece by piece. Raises ObjectMissing with the first piece.

        A response that breaks off is taken up where it broke, as long as the object is still the same one.
        """
        from botocore.exceptions import HTTPClientError, IncompleteReadError

        done, tag, attempt = 0, None, 1
        while True:
            more = {"Range": f"bytes={done}-", "IfMatch": tag} if done else {}
            with told("read", self.url(key)):
                reply = self._client.get_object(**self._place(key), **more)
                tag, size = reply["ETag"], done + reply["ContentLength"]
                try:
                    while piece := reply["Body"].read(PIECE):
                        done += len(piece)
                        yield piece
                except (HTTPClientError, IncompleteReadError):
                    if attempt == READ_ATTEMPTS or done == size:  # nothing is left to take up
                        raise
                    attempt += 1
                else:
                    return
                finally:
                    reply["Body"].close()

    def read(self, key: str) -> bytes:
        """Return the whole object. Raises ObjectMissing."""
        return b"".join(self.chunks(key))

    def lines(self, key: str) -> Iterator[bytes]:
        r"""Yield the object's lines without their `\n`. Raises ObjectMissing with the first line."""
        return split_lines(self.chunks(key))

    def write(self, key: str, data: bytes | Iterable[bytes]) -> None:
        """Store the object, whole or not at all; an older one stays until then. An iterable is spooled first."""
        place = self._place(key)
        with _spooled(data) as (body, size), told("write", self.url(key)):
            if size <= ONE_PUT:
                self._client.put_object(**place, **_type(key), Body=body)
            else:
                self._client.upload_fileobj(body, place["Bucket"], place["Key"], ExtraArgs=_type(key))

    def create(self, key: str, data: bytes) -> bool:
        """Store the object only where there is none, whole or not at all. Returns False when there is one already.

        Of any number of processes that try at once, exactly one gets True.
        """
        from botocore.exceptions import ClientError

        for attempt in (1, 2, 3):
            with told("create", self.url(key)):
                try:
                    self._client.put_object(**self._place(key), **_type(key), Body=data, IfNoneMatch="*")
                except ClientError as error:
                    code = error.response["Error"]["Code"]
                    if code == "ConditionalRequestConflict" and attempt < 3:  # another writer is at it this instant
                        continue
                    if code not in {"PreconditionFailed", "412", "ConditionalRequestConflict"}:
                        raise
                    # boto3 repeats a request whose reply was lost; the repetition then meets our own object.
                    repeated = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) > 0
                    return repeated and self.read(key) == data
            return True
        raise AssertionError  # the third attempt always returns or raises

    def exists(self, key: str) -> bool:
        """Return whether there is an object under `key`."""
        try:
            with told("look for", self.url(key)):
                self._client.head_object(**self._place(key))
        except ObjectMissing:
            return False
        return True

    def list(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin with `prefix`, sorted by their characters' numbers."""
        with told("list", f"{self.root_url}/{prefix}"):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self._base + check_prefix(prefix)
            )
            found = [item["Key"] for page in pages for item in page.get("Contents", [])]
        # Not every endpoint lists in the order of the keys, and some show folders as keys that end with `/`.
        return iter(sorted(key[len(self._base) :] for key in found if not key.endswith("/")))

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""
        with told("delete", self.url(key)):
            self._client.delete_object(**self._place(key))

    def _place(self, key: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self._base + check_key(key)}


@contextmanager
def _spooled(data: bytes | Iterable[bytes]) -> Iterator[tuple[IO[bytes], int]]:
    if isinstance(data, bytes):
        yield io.BytesIO(data), len(data)
        return
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        for piece in data:
            file.write(piece)
        size = file.tell()
        file.seek(0)
        yield file, size


def _type(key: str) -> dict[str, str]:
    known = {".jsonl": "application/x-ndjson", ".lock": "text/plain; charset=utf-8"}
    suffix = f".{key.rpartition('.')[2]}"
    guess = known.get(suffix) or mimetypes.guess_type(f"x{suffix}")[0] or "application/octet-stream"
    return {"ContentType": f"{guess}; charset=utf-8" if guess == "text/html" else guess}


@contextmanager
def told(action: str, place: str) -> Iterator[None]:
    """Turn boto3's errors inside the block into ours: a sentence without credentials.

    Raises:
        ObjectMissing: when S3 knows no such key.
        StorageFailed: for everything else that boto3 raises.
    """
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        fault = error.response.get("Error", {})
        code = str(fault.get("Code", "unknown"))
        if code in {"NoSuchKey", "404", "NotFound"}:
            raise ObjectMissing(f"There is no object `{place}`.") from error
        cause = _EXPLAINED.get(code) or redact_url(str(fault.get("Message") or "no message"))
        raise StorageFailed(f"Could not {action} `{place}`: {cause} (S3 says `{code}`).") from error
    except (BotoCoreError, Boto3Error) as error:
        raise StorageFailed(f"Could not {action} `{place}`: {redact_url(str(error)).rstrip('.')}.") from error
