"""No text whatever makes the parser raise, or return what no object in the text says."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from bench_assets.contracts.outcome import LABELS
from bench_assets.judging.llm.parsing import ParsedVerdict, match_label, parse_reply

FRAGMENTS = st.sampled_from(
    [
        *"{}[]():,\"'`\\ \n",
        *LABELS,
        "label",
        "reason",
        '"label"',
        "'label'",
        '"correct"',
        "'incorrect'",
        "<think>",
        "</think>",
        "```json",
        "None",
        "null",
        "0x1",
        "1e999",
        "\\u0000",
        "\ud800",
        "\ufeff",
        '{"label": "correct"}',
        "{'label': 'incorrect'}",
        '{"label": "partially correct"}',
        '{"verdict": 1}',
    ]
)
TEXTS = st.text() | st.lists(FRAGMENTS | st.text(max_size=3), max_size=40).map("".join)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(LABELS),
)
LABEL_VALUES = st.sampled_from([*LABELS, "Correct", "INCORRECT", "not attempted", "not correct", "ok", "", 1, None, []])
OBJECTS = st.fixed_dictionaries({}, optional={"label": LABEL_VALUES, "reason": VALUES, "x": VALUES})
PROSE = st.text(alphabet=st.characters(exclude_characters="{}[]<>\"'", exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, answer=TEXTS)
def test_any_text_gives_a_verdict_or_a_named_fault(text, answer):
    found = parse_reply(text, answer=answer)
    if isinstance(found, ParsedVerdict):
        assert found.label in LABELS
        assert re.search(rf"\b{found.label.replace('_', '[ _-]+')}\b", text, re.IGNORECASE)
        assert "label" in text
    else:
        assert re.fullmatch(r"[a-z_]+", found.code)
        assert found.message


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(st.tuples(PROSE, OBJECTS), min_size=1, max_size=5), tail=PROSE, python=st.booleans())
def test_the_last_object_with_a_label_decides_and_the_label_is_its_own(parts, tail, python):
    write = repr if python else json.dumps
    text = "".join(prose + write(value) for prose, value in parts) + tail
    said = [value["label"] for _, value in parts if "label" in value]
    expected = match_label(said[-1]) if said else None
    found = parse_reply(text)
    assert (found.label if isinstance(found, ParsedVerdict) else None) == expected


@settings(max_examples=200, deadline=None)
@given(quoted=TEXTS, label=st.sampled_from(LABELS), fence=st.booleans(), before=PROSE)
def test_a_reason_may_quote_anything_without_changing_the_verdict(quoted, label, fence, before):
    verdict = json.dumps({"reason": quoted, "label": label})
    text = f"{before}\n```json\n{verdict}\n```" if fence else verdict
    found = parse_reply(text, answer=quoted)
    assert isinstance(found, ParsedVerdict)
    assert found.label == label


@settings(max_examples=200, deadline=None)
@given(quoted=TEXTS, label=st.sampled_from(LABELS), cut=st.integers(min_value=1, max_value=60))
def test_a_reply_that_is_cut_off_is_no_verdict(quoted, label, cut):
    verdict = json.dumps({"reason": quoted, "label": label})
    assert not isinstance(parse_reply(verdict[: -min(cut, len(verdict))]), ParsedVerdict)
