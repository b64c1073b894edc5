import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from bench_assets.analysis.report import page as page_module
from bench_assets.analysis.report.html import Html, join, sentence, tag
from bench_assets.analysis.report.page import render_report
from bench_assets.analysis.report.rows import run_data, script_json
from tests.analysis.observing import numbered, observed
from tests.analysis.reporting import NASTY, report


class Reader(HTMLParser):
    """Collects a page's elements, and the text of each script and style."""

    def __init__(self, page):
        super().__init__()
        self.elements = []
        self.raw = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        self.inside = name in ("script", "style")

    def handle_endtag(self, name):  # noqa: ARG002
        self.inside = False

    def handle_data(self, text):
        if self.inside:
            self.raw.append((*self.elements[-1], text))


@pytest.fixture(scope="module")
def page():
    return report(30)


def test_the_page_holds_its_own_three_scripts_and_nothing_that_an_answer_brought(page):
    elements = Reader(page).elements
    assert [attributes.get("type") for name, attributes in elements if name == "script"] == ["application/json", None]
    assert not [name for name, _ in elements if name in ("img", "link", "iframe", "object", "base")]
    assert not [key for _, attributes in elements for key in attributes if key.startswith("on") or key == "style"]


def test_nothing_on_the_page_has_an_address_elsewhere(page):
    places = [
        value for _, attributes in Reader(page).elements for key, value in attributes.items() if key in ("src", "href")
    ]
    assert places
    assert all(place.startswith("#") for place in places)
    assert not re.search(r"url\(|@import", page)


def test_only_the_page_s_own_script_and_style_may_run(page):
    reader = Reader(page)
    assert len(reader.raw) == 3
    policy = next(one["content"] for name, one in reader.elements if one.get("http-equiv"))
    for name, attributes, text in reader.raw:
        if attributes.get("type") != "application/json":
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_the_data_is_whole_and_cannot_end_its_element(page):
    (text,) = [text for _, attributes, text in Reader(page).raw if attributes.get("id") == "data"]
    assert not set("<>&") & set(text)
    data = json.loads(text)
    assert len(data["questions"]) == 30
    nasty = next(one for one in data["questions"] if one["id"] == "q0")
    assert (nasty["question"], nasty["golden"], nasty["sides"][1][0][1]) == (NASTY, [NASTY], NASTY)
    assert data["sides"] == ["kg@v1", "kg@v2"]


def test_the_verdict_every_reason_and_the_figures_stand_in_the_page_without_a_script(page):
    assert "<title>NO-GO: kg@v2 on facts@1.0</title>" in page
    assert "Not passed: 1 of the 1 questions that must pass (<code>q0</code>)" in page
    for place in ("result", "gate", "questions", "figures", "groups", "history", "conditions", "provenance"):
        assert f'id="{place}"' in page
    assert page.count("<svg") == 2
    assert "run.json differ" in page


def test_a_run_alone_has_a_report_too():
    run = observed(numbered([("correct", 3), ("incorrect", 1), ("agent_error", 1)]))
    page = render_report(run)
    assert "<title>kg@v1 on facts@1.0</title>" in page
    assert 'id="gate"' not in page
    assert 'href="#conditions"' not in page
    (text,) = [text for _, attributes, text in Reader(page).raw if attributes.get("id") == "data"]
    kinds = [one["kind"] for one in json.loads(text)["questions"]]
    assert kinds == ["right"] * 3 + ["wrong", "error"]


def test_a_run_without_any_question_has_a_report_too():
    assert "<title>kg@v1" in render_report(observed({}))


def test_a_report_is_the_same_each_time():
    assert report(5) == report(5)


def test_text_is_escaped_unless_it_is_html_already():
    assert tag("p", "<b>", tag("b", "x"), None, class_='"', hidden=True, id=None) == (
        '<p class="&quot;" hidden>&lt;b&gt;<b>x</b></p>'
    )
    assert join(["a&b", Html("<i>")]) == "a&amp;b<i>"
    assert sentence("is `<x>` ok") == "is <code>&lt;x&gt;</code> ok"


def test_json_for_a_script_survives_what_json_cannot_hold():
    assert json.loads(script_json({"a": "\ud800</script>", "b": float("nan")})) == {"a": "\ufffd</script>", "b": None}


def test_a_page_says_how_many_questions_it_leaves_out(monkeypatch):
    monkeypatch.setattr(page_module, "MOST_LISTED", 3)
    run = observed(numbered([("correct", 4), ("incorrect", 1)]))
    page = render_report(run)
    assert "3 of 5 questions are listed, what is not right first; <code>answers.jsonl</code> has all of them." in page
    shown = [one["id"] for one in json.loads("".join(run_data(run, most=3)))["questions"]]
    assert shown == ["q0", "q1", "q4"]
