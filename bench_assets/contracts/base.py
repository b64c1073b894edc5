"""What all records share: strict, frozen, and one way to become JSON."""

import hashlib
import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from bench_assets.errors import InvalidInput

JsonValue = Any
"""A value that JSON can hold: None, bool, int, float, str, list, dict. `clean_json` makes one of anything."""


class Record(BaseModel):
    """A frozen record that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")

    def to_json(self) -> dict[str, JsonValue]:
        """Return the record as plain JSON values; NaN and infinities become None."""
        fields: dict[str, JsonValue] = clean_json(self.model_dump(mode="json", by_alias=True))
        return fields

    def to_line(self) -> bytes:
        """Return the record as one line of JSON, UTF-8, with the line's end. What JSON cannot hold is replaced."""
        try:
            return self.model_dump_json(by_alias=True).encode("utf-8") + b"\n"
        except PydanticSerializationError:  # lone surrogates; the other way costs three times as much
            return dump_json(self.model_dump(mode="json", by_alias=True)) + b"\n"

    @classmethod
    def from_json(cls, value: object, *, source: str = "the record") -> Self:
        """Read a record back. Raises InvalidInput, with `source` and the first fault, when it does not fit."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidInput(f"{source} is not a valid {cls.__name__}: {first_fault(error)}") from error


class VersionedRecord(Record):
    """A record that is the whole of a file. The file names its `schema_version`."""

    @classmethod
    def from_json(cls, value: object, *, source: str = "the record") -> Self:
        """Like `Record.from_json`, and refuse a `schema_version` that this release does not know."""
        known = cls.model_fields["schema_version"].default
        found = value.get("schema_version") if isinstance(value, Mapping) else None
        if found != known:
            raise InvalidInput(
                f"{source} has schema_version `{found}`; this release of bench-assets reads {known}. "
                "Use the release that wrote it, or make the run again."
            )
        return super().from_json(value, source=source)


def first_fault(error: ValidationError) -> str:
    """Return pydantic's first complaint as `field.path: what is wrong`, without the offending value."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    message = "is not a key that is known here" if fault["type"] == "extra_forbidden" else fault["msg"]
    message = message.removeprefix("Value error, ")
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"`{place}`: {message}{more}" if place else message + more


def clean_json(value: object) -> JsonValue:
    """Return `value` as strict JSON values.

    NaN and infinities become None, lone surrogates become U+FFFD, tuples and sets become lists, bytes and other
    objects become their `repr`. Keys become text. The result always survives `json.dumps(…, allow_nan=False)`.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [clean_json(item) for item in value]
    return clean_text(repr(value))


def clean_text(text: str) -> str:
    """Return `text` with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD. NUL stays: JSON can hold it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def dump_json(value: object, *, sort_keys: bool = False) -> bytes:
    """Return compact strict JSON, UTF-8, on one line (JSON escapes every line feed)."""
    encode = partial(json.dumps, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    try:
        return encode(value).encode("utf-8")
    except (ValueError, TypeError):  # not strict JSON, or a lone surrogate: clean it, which costs more
        return encode(clean_json(value)).encode("utf-8")


def digest(value: object) -> str:
    """Return the SHA-256 of `value`'s canonical JSON (sorted keys, compact, UTF-8), as 64 hex digits."""
    return hashlib.sha256(dump_json(value, sort_keys=True)).hexdigest()
