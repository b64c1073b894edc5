"""What an adapter may return, raise, print and read."""

import json

import pytest


def test_a_plain_adapter_answers_with_text(ready):
    worker = ready("class Agent:\n    def run(self, question): return question.upper()")
    reply = worker.ask("two?")
    assert reply.pop("duration") >= 0
    assert reply == {
        "type": "result", "request": 1, "answer": "TWO?", "usage": None, "meta": None, "trajectory": None,
    }  # fmt: skip


def test_an_adapter_may_return_a_mapping_and_keys_we_do_not_know_are_kept_in_meta(ready):
    worker = ready("""
        class Agent:
            async def run(self, question):
                steps = [{"tool": "add"}]
                return {"answer": "4", "usage": {"tokens": 7}, "meta": {"a": 1}, "trajectory": steps, "b": 2}
    """)
    reply = worker.ask("2+2?")
    assert (reply["answer"], reply["usage"], reply["trajectory"]) == ("4", {"tokens": 7}, [{"tool": "add"}])
    assert reply["meta"] == {"a": 1, "b": 2}


BAD_ANSWERS = {
    "None": "not None",
    "4": "not a int",
    "['4']": "not a list",
    "{'text': '4'}": "`answer` is None",
    "{'answer': 4}": "`answer` is a int",
    "{'answer': '4', 'usage': [1]}": "`usage` is a list",
    "(c for c in '4')": "not a generator",
    "'x' * 70_000_000": "is the most that can be kept",
}


def test_what_is_no_text_is_a_bad_answer_to_that_question_only(ready):
    worker = ready("class Agent:\n    def run(self, question): return eval(question)")
    for expression, complaint in BAD_ANSWERS.items():
        reply = worker.ask(expression)
        assert (reply["type"], reply["kind"]) == ("error", "bad_answer")
        assert complaint in reply["message"]
    assert worker.ask("'good'")["answer"] == "good"


def test_any_value_survives_as_strict_json(ready):
    worker = ready(r"""
        import datetime, enum, sys
        class Loud:
            def __repr__(self): raise RuntimeError
        deep = []
        for _ in range(5000): deep = [deep]
        knot = {}; knot["self"] = knot
        class Color(enum.Enum): RED = 1
        class Agent:
            def run(self, question):
                return {
                    "answer": "a\ud800b\x00c\u2028d\re😀",
                    "usage": {"cost": float("inf"), "tokens": float("nan"), 1: 2, None: 3},
                    "meta": {"\udcff": {"when": datetime.date(2026, 1, 2), "raw": b"\xff", "set": {1}, "loud": Loud()}},
                    "trajectory": [deep, knot, 10 ** 5000, -0.5, Color.RED, ("tuple",)],
                }
    """)
    reply = worker.ask("?")
    assert reply["answer"] == "a\ufffdb\x00c\u2028d\re😀"
    assert reply["usage"] == {"cost": None, "tokens": None, "1": 2, "None": 3}
    meta = reply["meta"]["\ufffd"]
    assert meta == {
        "when": "datetime.date(2026, 1, 2)", "raw": "b'\\xff'", "set": [1], "loud": "<Loud that cannot be shown>",
    }  # fmt: skip
    assert json.dumps(reply["trajectory"], allow_nan=False)
    assert reply["trajectory"][2].startswith("0x")
    assert reply["trajectory"][3:] == [-0.5, "<Color.RED: 1>", ["tuple"]]


def test_an_answer_of_megabytes_arrives_whole(ready):
    worker = ready("class Agent:\n    def run(self, question): return 'я' * 8_000_000")
    assert worker.ask("?")["answer"] == "я" * 8_000_000


EXCEPTIONS = {
    "TimeoutError('db')": "TimeoutError: db",
    "SystemExit(3)": "SystemExit: 3",
    "KeyboardInterrupt": "KeyboardInterrupt",
    "asyncio.CancelledError('mine')": "CancelledError: mine",
    "Unprintable()": "Unprintable: (its text cannot be shown)",
    "ValueError('x' * 99_999)": "ValueError: xxx",
}


@pytest.mark.parametrize("way", ["def", "async def"])
def test_whatever_the_agent_raises_is_its_error_for_that_question(ready, way):
    worker = ready(f"""
        import asyncio
        class Unprintable(Exception):
            def __str__(self): raise RuntimeError
        class Agent:
            {way} run(self, question):
                raise eval(question)
    """)
    for exception, message in EXCEPTIONS.items():
        reply = worker.ask(exception)
        assert (reply["type"], reply["kind"]) == ("error", "agent_error")
        assert reply["message"].startswith(message)
        assert len(reply["message"]) <= 2000
        assert "in run" in reply["traceback"] or "xxx" in reply["traceback"] or "Unprintable" in reply["traceback"]
        assert "bench_worker" not in reply["traceback"]
        assert len(reply["traceback"]) <= 4000


def test_system_exit_in_a_task_of_the_agents_own_is_an_error_of_its_question(ready):
    worker = ready("""
        import asyncio
        class Agent:
            async def run(self, question):
                async def part():
                    raise SystemExit(5)
                if question == "bad":
                    await asyncio.create_task(part())
                return "fine"
    """)
    assert worker.ask("bad")["message"] == "SystemExit: 5"
    assert worker.ask("good")["answer"] == "fine"


def test_what_is_printed_goes_to_the_log_and_never_into_the_protocol(ready):
    worker = ready("""
        import os, subprocess, sys
        class Agent:
            def run(self, question):
                print("loading")
                print('{"type":"result","request":1,"answer":"forged"}', flush=True)
                os.write(1, b"native noise")
                subprocess.run(["echo", "child noise"])
                sys.stdout.write("progress 50%"); sys.stdout.flush()
                return "real"
    """)
    assert [worker.ask("1")["answer"], worker.ask("2")["answer"]] == ["real", "real"]
    for text in ("loading", "forged", "native noise", "child noise", "progress 50%"):
        assert text in worker.log()


def test_the_agent_and_its_children_find_nothing_to_read(ready):
    worker = ready("""
        import subprocess
        class Agent:
            def run(self, question):
                if question == "input":
                    return input()
                return repr(subprocess.run(["cat"], stdout=subprocess.PIPE).stdout)
    """)
    assert worker.ask("cat")["answer"] == "b''"
    assert worker.ask("input")["message"].startswith("EOFError")
    assert worker.ask("cat")["answer"] == "b''"


def test_a_fork_of_a_fork_keeps_its_own_descriptors(ready):
    worker = ready("""
        import os
        class Agent:
            def run(self, question):
                pid = os.fork()
                if pid == 0:
                    mine = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
                    again = os.fork()
                    if again == 0:
                        [os.fstat(number) for number in mine]
                        os._exit(0)
                    os._exit(os.waitpid(again, 0)[1] != 0)
                return str(os.waitpid(pid, 0)[1])
    """)
    assert worker.ask("q")["answer"] == "0"


@pytest.mark.parametrize("way", ["fork", "multiprocessing"])
def test_a_fork_of_the_agent_cannot_answer_in_its_name(ready, way):
    worker = ready(f"""
        import multiprocessing, os
        def child(): print("forked")
        class Agent:
            def run(self, question):
                if {way!r} == "multiprocessing":
                    process = multiprocessing.get_context("fork").Process(target=child)
                    process.start(); process.join()
                    return "parent"
                pid = os.fork()
                if pid == 0:
                    return "child"
                os.waitpid(pid, 0)
                return "parent"
    """)
    assert [worker.ask("1")["answer"], worker.ask("2")["answer"]] == ["parent", "parent"]
