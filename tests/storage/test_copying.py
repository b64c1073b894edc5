"""Rows on their way into Postgres: made once, encoded fast, told apart by content."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_assets.contracts.base import clean_text
from bench_assets.storage.postgres.copying import TOGETHER, row_stream
from bench_assets.storage.postgres.encoding import COLUMNS, encoded
from bench_assets.storage.postgres.rows import ExecutionRow
from tests.storage.records import execution, executions

DIGEST = "3e759e0492fa205e19fdbd2dbf3a08eea6329fe738a7586d439b50076c6ca87a"
"""Of the rows below, as release 0.1.0 stored it beside its runs."""

WRITTEN = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": "\ufffd"}


def plainly(text: str) -> str:
    """Return a text field the slow and obvious way."""
    return "".join(WRITTEN.get(sign, sign) for sign in clean_text(text))


def test_what_an_earlier_release_stored_is_still_the_same_result() -> None:
    with row_stream("a-run", executions("correct", "agent_error", "judge_error")) as rows:
        assert rows.digest() == DIGEST
    with row_stream("a-run", reversed(list(executions("correct", "agent_error", "judge_error")))) as rows:
        assert rows.digest() == DIGEST, "in any order"


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("2026-05-18T15:45:01.123456+00:00", "2026-05-18T15:45:01.123456+00:00"),
        ("2026-05-18T15:45:01.000000+00:00", "2026-05-18T15:45:01+00:00"),
        ("2026-05-18T15:45:01Z", "2026-05-18T15:45:01+00:00"),
    ],
)
def test_a_time_is_written_as_earlier_releases_did(given: str, written: str) -> None:
    stable, _ = encoded(execution("q1", started_at=given))
    assert stable.decode().split("\t")[COLUMNS.index("started_at")] == written


@given(answer=st.none() | st.text(), reason=st.text(), kind=st.none() | st.text())
def test_any_text_is_a_field_of_its_line(answer: str | None, reason: str, kind: str | None) -> None:
    stable, volatile = encoded(execution("q1")._replace(answer=answer, reason=reason, error_kind=kind))
    fields = dict(zip(COLUMNS, (stable + b"\t" + volatile).decode().split("\t"), strict=True))
    assert fields["answer"] == (r"\N" if answer is None else plainly(answer))
    assert fields["error_kind"] == (r"\N" if kind is None else plainly(kind))
    assert fields["reason"] == plainly(reason)
    assert fields["cached"] == "f"


def test_rows_are_made_while_they_are_read_and_once_only() -> None:
    made = 0

    def counted() -> Iterator[ExecutionRow]:
        nonlocal made
        for number in range(10):
            made += 1
            yield execution(f"q{number}", answer="x" * (TOGETHER // 2))

    with row_stream("a-run", counted()) as rows:
        first = rows.read()
        assert made == 2
        rows.rewind()
        assert rows.read() == first, "a connection that breaks is given the same lines again"
        assert made == 2
        rest = b"".join(iter(rows.read, b""))
        assert (first + rest).count(b"\n") == made == 10
        rows.digest()
        assert made == 10
