import sys
import time

import pytest

from bench_assets.environments.child_process import build_variables, run_child
from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor


def run(code, *, timeout_sec=20.0, **options):
    options.setdefault("redact", Redactor())
    command = [sys.executable, "-c", code]
    return run_child(command, variables={"PATH": "/usr/bin:/bin"}, timeout_sec=timeout_sec, limit="a limit", **options)


def test_what_a_child_prints_is_kept_apart_and_redacted():
    said = []
    result = run(
        "import sys; print('out s3cr3t-1'); print('err s3cr3t-1', file=sys.stderr); sys.exit(3)",
        redact=Redactor(["s3cr3t-1"]),
        on_line=said.append,
    )
    assert (result.returncode, result.stdout, result.tail) == (3, "out ***\n", "err ***")
    assert said == ["err ***"]


def test_a_child_reads_what_it_is_given_and_then_nothing():
    assert run("import sys; print(len(sys.stdin.read()))", stdin="x" * 300_000).stdout == "300000\n"
    assert run("pass", stdin="x" * 300_000).returncode == 0


def test_a_child_that_says_very_much_does_not_block():
    result = run("import sys\nfor n in range(30000): print('x' * 90, file=sys.stderr); print('y' * 90)")
    assert len(result.stdout) == 30000 * 91
    assert len(result.tail.splitlines()) == 40


def test_a_child_that_hangs_is_ended_with_its_children_and_the_limit_is_named(tmp_path):
    pid = tmp_path / "pid"
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"child = subprocess.Popen(['sleep', '600']); open({str(pid)!r}, 'w').write(str(child.pid));"
        "print('last words', file=sys.stderr, flush=True); time.sleep(600)"
    )
    started = time.monotonic()
    with pytest.raises(EnvironmentFailed, match=r"(?s)after 0\.7 s: `a limit` is over.*last words"):
        run(code, timeout_sec=0.7)
    assert time.monotonic() - started < 15
    assert not alive(int(pid.read_text()))


def test_a_daemon_that_keeps_the_streams_open_does_not_hold_up_its_parent():
    code = (
        "import subprocess, sys; print('done', file=sys.stderr);"
        "subprocess.Popen(['sleep', '20'], start_new_session=True)"
    )
    started = time.monotonic()
    assert run(code).tail == "done"
    assert time.monotonic() - started < 15


def test_an_error_of_the_listener_ends_the_child(tmp_path):
    def refuse(line):
        raise KeyError(line)

    started = time.monotonic()
    with pytest.raises(KeyError):
        run("import sys, time; print('x', file=sys.stderr, flush=True); time.sleep(600)", on_line=refuse)
    assert time.monotonic() - started < 15


def test_a_program_that_is_not_there_is_a_sentence():
    with pytest.raises(EnvironmentFailed, match="`nowhere-to-be-found` could not be started"):
        run_child(["nowhere-to-be-found"], variables={}, timeout_sec=1, limit="a limit", redact=Redactor())


def test_a_child_has_no_terminal_to_ask_on():
    code = "import os\ntry: os.open('/dev/tty', os.O_RDWR); print('tty')\nexcept OSError: print('none')"
    assert run(code).stdout == "none\n"


def test_builds_keep_the_users_indexes_and_lose_what_would_mix_in_or_ask():
    variables = build_variables(
        {
            "PATH": "/bin",
            "UV_INDEX_URL": "https://mirror.example.org",
            "PIP_FIND_LINKS": "/wheels",
            "UV_PYTHON_DOWNLOADS": "automatic",
            "GIT_SSH_COMMAND": "ssh -i key",
            "GIT_ASKPASS": "/usr/bin/window",
            "SSH_ASKPASS": "/usr/bin/window",
            "GIT_DIR": "/somewhere/.git",
            "PYTHONPATH": "/x",
            "PYTHONHOME": "/x",
            "VIRTUAL_ENV": "/x",
            "BENCH_POSTGRES_URL": "x",
            "BENCHER_LLM_JUDGE_KWARGS": "x",
            "DAGSTER_HOME": "x",
            "BENCHMARK_OF_THEIRS": "kept",
        }
    )
    assert variables["UV_INDEX_URL"] == "https://mirror.example.org"
    assert variables["UV_PYTHON_DOWNLOADS"] == "automatic"
    assert variables["GIT_SSH_COMMAND"] == "ssh -i key"
    assert (variables["GIT_ASKPASS"], variables["GIT_TERMINAL_PROMPT"]) == ("", "0")
    assert variables["BENCHMARK_OF_THEIRS"] == "kept"
    gone = {"SSH_ASKPASS", "GIT_DIR", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "BENCH_POSTGRES_URL", "DAGSTER_HOME"}
    assert gone.isdisjoint(variables)
    assert build_variables({})["UV_PYTHON_DOWNLOADS"] == "never"


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - a zombie counts as ended
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
