"""One kept verdict as a line of JSON, with a checksum: a disk or a hand that changes a label must not go unseen."""

import json
from dataclasses import dataclass
from hashlib import sha256

from pydantic import ValidationError

from bench_assets.contracts.base import dump_json
from bench_assets.contracts.score import Verdict

_CHECK = b',"check":"'


@dataclass(frozen=True)
class KeptLine:
    """A line that was read."""

    key: str
    """Of the content: the part of `verdict_key` behind the judge."""
    at: str
    """When it was judged: ISO 8601, UTC. Of two verdicts on one content the earlier one counts."""
    raw: bytes
    """The line without its end."""

    @property
    def rank(self) -> tuple[str, bytes]:
        """Which of several lines on one content comes first, the same on every machine."""
        return self.at, self.raw

    def verdict(self) -> Verdict | None:
        """Return the verdict; None when this release cannot read it."""
        try:
            return Verdict.model_validate(json.loads(self.raw)["verdict"])
        except ValidationError:
            return None


def write_line(key: str, verdict: Verdict, *, at: str) -> KeptLine:
    """Return the line of a verdict."""
    text = dump_json({"key": key, "at": at, "verdict": verdict.model_dump(mode="json", exclude_defaults=True)})
    return KeptLine(key=key, at=at, raw=b'%s%s%s"}' % (text[:-1], _CHECK, _sum(text)))


def read_line(raw: bytes) -> KeptLine | None:
    """Read a line back; None when it is not as it was written."""
    text, mark, end = raw.rpartition(_CHECK)
    text += b"}"
    if not mark or end != _sum(text) + b'"}':
        return None
    try:
        fields = json.loads(text)
        return KeptLine(key=fields["key"], at=fields["at"], raw=raw)
    except (ValueError, KeyError, TypeError):
        return None


def _sum(text: bytes) -> bytes:
    return sha256(text).hexdigest()[:16].encode("ascii")
