"""Workers that never become ready: the shard stops fast, with one sentence that says why."""

import pytest

from bench_assets.errors import WorkerFailed
from tests.execution.conftest import execution


def failed_start(bench, **more):
    with bench.engine(**more) as engine, bench.journal() as journal:
        with pytest.raises(WorkerFailed) as caught:
            engine.run([execution("q1"), execution("q2")], journal=journal, shard="000")
        assert not journal.settled()
    return caught.value


def test_an_import_error_stops_at_the_first_start_with_its_traceback(bench):
    bench.adapter("open(FOLDER + '/started', 'a').write('x\\n')\nimport not_installed_pkg")
    error = failed_start(bench, retries=3)
    assert error.kind == "import_error"
    assert "ModuleNotFoundError: No module named 'not_installed_pkg'" in str(error)
    assert 'my_adapter.py", line 4' in error.stderr_tail
    assert len(bench.lines("started")) == 1


def test_a_missing_entry_point_is_another_error_than_a_failed_import(bench):
    bench.adapter("")
    error = failed_start(bench, launch={"connection": ("--entry-point", "agent")})
    assert error.kind == "no_entry_point"
    assert "no entry point `agent`" in str(error)
    assert "available: " in str(error)


def test_an_init_that_fails_stops_at_the_first_start(bench):
    bench.adapter("class Agent:\n    def run(self, q): pass\n    async def init(self): raise OSError('no model')")
    error = failed_start(bench)
    assert error.kind == "init_error"
    assert "OSError: no model" in str(error)


def test_a_worker_that_is_not_ready_in_time_is_tried_a_few_times(bench):
    bench.adapter(
        "open(FOLDER + '/started', 'a').write('x\\n')\nprint('loading the model', flush=True)\ntime.sleep(600)"
    )
    error = failed_start(bench, worker_ready_timeout_sec=0.7)
    assert error.kind == "ready_timeout"
    assert "worker_ready_timeout_sec=0.7" in str(error)
    assert "in 3 starts" in str(error)
    assert "loading the model" in error.stderr_tail
    assert len(bench.lines("started")) == 3


def test_a_worker_that_crashes_while_it_starts_is_tried_a_few_times(bench):
    bench.adapter("open(FOLDER + '/started', 'a').write('x\\n')\nprint('boom', flush=True)\nos._exit(9)")
    error = failed_start(bench)
    assert error.kind == "crash"
    assert "exit code 9 while it was starting" in str(error)
    assert "boom" in error.stderr_tail
    assert len(bench.lines("started")) == 3


def test_an_interpreter_without_the_worker_says_so(bench):
    bench.adapter("")
    error = failed_start(bench, launch={"env": {"PYTHONPATH": ""}})
    assert "No module named bench_worker" in str(error)


def test_an_interpreter_that_does_not_exist_is_named(bench, tmp_path):
    error = failed_start(bench, launch={"python": tmp_path / "no-python"})
    assert f"`{tmp_path / 'no-python'}` could not be started" in str(error)


def test_a_worker_of_another_protocol_version_is_refused(bench):
    package = bench.folder / "other" / "bench_worker"
    package.mkdir(parents=True)
    ready = {"type": "ready", "protocol": 9, "python": "3.11", "concurrent": False}
    agent = {"distribution": None, "version": None, "describe": None}
    code = f"import json, time\nprint(json.dumps({ {**ready, 'agent': agent}!r}), flush=True)\ntime.sleep(600)"
    (package / "__main__.py").write_text(code, encoding="utf-8")
    (package / "__init__.py").touch()
    error = failed_start(bench, launch={"env": {"PYTHONPATH": str(package.parent)}})
    assert "speaks version 9 of the protocol" in str(error)


def test_a_start_that_fails_once_is_forgotten_when_the_next_succeeds(bench):
    bench.adapter("""
        with open(FOLDER + "/started", "a") as file: file.write("x\\n")
        if len(open(FOLDER + "/started").readlines()) == 1: os._exit(1)
        class Agent:
            def run(self, question): return "ok"
    """)
    assert bench.ask("q")["q"].answer == "ok"
    assert bench.result.worker_starts == 2
