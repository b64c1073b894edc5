"""Each way in which a worker cannot start says which one it was."""

import pytest

GOOD = "class Agent:\n    def run(self, question): return 'ok'"


def install(folder, name, *, entry_points):
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


@pytest.mark.parametrize("group", ["bencher_agents", "bench_agents"])
def test_an_entry_point_of_either_group_is_found(start, tmp_path, group):
    install(tmp_path, "my-agent", entry_points=f"[{group}]\nagent = my_adapter:Agent\n")
    worker = start(GOOD, entry_point="agent")
    ready = worker.hear()
    assert (ready["type"], ready["agent"]["distribution"], ready["agent"]["version"]) == ("ready", "my-agent", "1.0")
    assert worker.ask("?")["answer"] == "ok"


def failure(worker):
    message = worker.hear()
    assert message["type"] == "start_failed"
    assert worker.hear() is None
    assert worker.process.wait(10) == 1
    return message


def test_an_unknown_entry_point_is_answered_with_those_that_exist(start, tmp_path):
    install(tmp_path, "my-agent", entry_points="[bencher_agents]\nfast = m:a\nslow = m:b\n[other]\nx = m:c\n")
    message = failure(start(GOOD, entry_point="agent"))
    assert message["kind"] == "no_entry_point"
    assert "available: `fast`, `slow`" in message["message"]
    assert message["traceback"] is None


def test_an_entry_point_that_two_distributions_define_is_refused(start, tmp_path):
    install(tmp_path, "one", entry_points="[bench_agents]\nagent = my_adapter:Agent\n")
    install(tmp_path, "two", entry_points="[bench_agents]\nagent = other:Agent\n")
    message = failure(start(GOOD, entry_point="agent"))
    assert message["kind"] == "no_entry_point"
    assert "several" in message["message"]
    assert "`my_adapter:Agent` of one" in message["message"]
    assert "`other:Agent` of two" in message["message"]


def test_an_import_that_fails_inside_the_adapter_is_not_taken_for_a_missing_entry_point(start, tmp_path):
    install(tmp_path, "my-agent", entry_points="[bencher_agents]\nagent = my_adapter:Agent\n")
    message = failure(start("import not_installed_pkg", entry_point="agent"))
    assert message["kind"] == "import_error"
    assert "ModuleNotFoundError: No module named 'not_installed_pkg'" in message["message"]
    assert 'my_adapter.py", line 1' in message["traceback"]


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("import sys; sys.exit(3)", "import_error", "SystemExit: 3"),
        ("def run(: pass", "import_error", "SyntaxError"),
        ("class Other: pass", "import_error", "has no `Agent`; it has `Other`"),
        ("class Agent: pass", "init_error", "gives a Agent, which has no `run`"),
        ("Agent = 3", "init_error", "gives a int, which has no `run`"),
        ("def Agent(): raise ValueError('no key')", "init_error", "ValueError: no key"),
        ("class Agent:\n    def __init__(self, key): pass\n    def run(self, q): pass", "init_error", "TypeError"),
        (GOOD + "\n    async def init(self): raise OSError('no model')", "init_error", "OSError: no model"),
        (GOOD + "\n    def init(self): raise SystemExit(2)", "init_error", "SystemExit: 2"),
        (GOOD + "\n    def describe(self): return 'm'", "init_error", "must return a mapping, not a str"),
        (GOOD + "\n    def describe(self): raise KeyError('m')", "init_error", "KeyError: 'm'"),
    ],
)
def test_what_keeps_an_adapter_from_starting_is_told(start, code, kind, said):
    message = failure(start(code))
    assert message["kind"] == kind
    assert said in message["message"]


def test_a_module_that_does_not_exist_is_an_import_error(start):
    message = failure(start(GOOD, target="no_such_module:Agent"))
    assert message["kind"] == "import_error"
    assert "No module named 'no_such_module'" in message["message"]
