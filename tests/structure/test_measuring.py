"""The suite of `make bench`: that it runs, and that its page has a place for every item."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perf.__main__ import ITEMS
from perf.document import write_document
from perf.harness import Goal, Table, in_turns

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("item", ["questions", "judging"])
def test_an_item_is_measured_and_kept_as_json(tmp_path, item):
    command = [sys.executable, "-m", "perf", item, "--quick", "--rounds", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    outcome = json.loads((tmp_path / f"{item}.json").read_text(encoding="utf-8"))
    assert outcome["quick"] is True
    assert outcome["machine"]["cores"] >= 1
    for fields in outcome["tables"]:
        assert f"**{fields['title']}**" in done.stdout
        assert all(len(row) == len(fields["columns"]) for row in fields["rows"])
        assert Table.from_json(fields).to_json() == fields
    assert [path.name for path in tmp_path.iterdir()] == [f"{item}.json"]


def test_an_unknown_item_is_refused():
    command = [sys.executable, "-m", "perf", "speed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "there is no item speed" in done.stderr) == (2, True)


def test_pairs_are_measured_in_turns():
    order = []
    pair = in_turns(lambda: order.append("a") or len(order), lambda: order.append("b") or 2.0, rounds=3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert (pair.first, pair.ratio) == ((1, 4, 5), 2.0)


def test_the_page_has_one_place_for_each_item_and_keeps_what_stands_around_it(tmp_path):
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    (tmp_path / "performance.md").write_text(page, encoding="utf-8")
    goal = Goal(text="at most two", value=3.0, at_most=2.0, unit="s")
    machine = {"cores": 2, "processor": "p", "memory_gib": 4.0, "system": "s", "python": "3.11.7", "load_before": 0.1}
    for item in ITEMS:
        table = Table(title=f"the {item}", columns=["what", "figure"], rows=[["it", 0.1234]], goals=[goal])
        outcome = {"command": "c", "date": "d", "commit": None, "machine": machine, "rounds": 5, "took_sec": 1}
        write_document(tmp_path, item, outcome | {"tables": [table.to_json()]})
    written = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert written.count("**Not met**: at most two; measured 3.00 s.") == len(ITEMS)
    assert all(written.count(f"**the {item}**") == 1 for item in ITEMS)
    assert set(json.loads((tmp_path / "performance.json").read_text(encoding="utf-8"))) == set(ITEMS)
