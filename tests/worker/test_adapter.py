"""How an adapter is made, initialised, asked and closed."""

import time

import pytest

FORMS = {
    "a class": "class Agent:\n    def run(self, question): return 'ok'",
    "a function": "class Made:\n    def run(self, question): return 'ok'\ndef Agent(): return Made()",
    "an async function": "class Made:\n    async def run(self, q): return 'ok'\nasync def Agent(): return Made()",
    "an object": "class Made:\n    def run(self, question): return 'ok'\nAgent = Made()",
    "an object that can be called": """
class Made:
    def __call__(self): raise RuntimeError
    def run(self, question): return 'ok'
Agent = Made()""",
    "a plain run that returns a coroutine": """
class Agent:
    def run(self, question):
        async def answer(): return 'ok'
        return answer()""",
}


@pytest.mark.parametrize("form", FORMS)
def test_an_adapter_can_be(ready, form):
    assert ready(FORMS[form]).ask("?")["answer"] == "ok"


def test_one_event_loop_serves_init_every_run_and_close(ready):
    worker = ready("""
        import asyncio
        class Agent:
            async def init(self):
                self.lock, self.loop = asyncio.Lock(), asyncio.get_running_loop()
                self.background = asyncio.create_task(asyncio.sleep(60))
            async def describe(self): return {"same": asyncio.get_running_loop() is self.loop}
            async def run(self, question):
                async with self.lock:
                    return str(asyncio.get_running_loop() is self.loop)
            async def close(self):
                print("closed on the same loop:", asyncio.get_running_loop() is self.loop, self.background.cancelled())
    """)
    assert [worker.ask(str(number))["answer"] for number in range(3)] == ["True"] * 3
    assert worker.shut_down() == 0
    assert "closed on the same loop: True False" in worker.log()
    assert "Traceback" not in worker.log()


def test_a_plain_run_may_use_an_event_loop_of_its_own(ready):
    worker = ready("""
        import asyncio
        class Agent:
            async def init(self): pass
            def run(self, question):
                async def answer(): return "ok"
                return asyncio.run(answer())
    """)
    assert worker.ask("1")["answer"] == "ok"


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("question", ""),
        ("question, *, top_k=0", "top_k=3"),
        ("question, **kwargs", "style=short top_k=3"),
        ("question, style, **kwargs", "style=short top_k=3"),
        ("question, context", "context=q"),
        ("question, /, question_id=None", ""),
        ("text, *, style", "style=short"),
    ],
)
def test_kwargs_that_run_does_not_take_are_not_passed(ready, signature, expected):
    worker = ready(f"""
        class Agent:
            def run(self, {signature}):
                found = {{**locals(), **locals().get("kwargs", {{}})}}
                named = {{name: found[name] for name in ("style", "top_k") if found.get(name)}}
                if "context" in found:
                    named["context"] = found["context"]["question_id"]
                return " ".join(f"{{name}}={{value}}" for name, value in sorted(named.items()))
    """)
    assert worker.ask("q", style="short", top_k=3)["answer"] == expected


def test_ready_says_who_answers(start, tmp_path):
    info = tmp_path / "my_agent-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-agent\nVersion: 1.2.3\n", encoding="utf-8")
    (info / "RECORD").write_text("my_adapter.py,,\n", encoding="utf-8")
    code = (
        "class Agent:\n    def describe(self): return {'model': 'm-1'}\n    async def run(self, question): return 'ok'"
    )
    ready = start(code).hear()
    assert ready["protocol"] == 1
    assert ready["concurrent"] is True
    assert ready["agent"] == {"distribution": "my-agent", "version": "1.2.3", "describe": {"model": "m-1"}}


def test_an_async_adapter_is_asked_many_things_at_once(ready):
    worker = ready("""
        import asyncio
        class Agent:
            waiting = 0
            async def run(self, question):
                Agent.waiting += 1
                while Agent.waiting < 20:
                    await asyncio.sleep(0.01)
                return question
    """)
    for number in range(20):
        worker.send(str(number))
    assert {worker.hear()["answer"] for _ in range(20)} == {str(number) for number in range(20)}


def test_a_plain_adapter_is_asked_one_thing_at_a_time_in_order(ready):
    worker = ready("""
        class Agent:
            busy = False
            def run(self, question):
                assert not Agent.busy
                Agent.busy = True
                Agent.busy = False
                return question
    """)
    for number in range(5):
        worker.send(str(number))
    assert [worker.hear()["answer"] for _ in range(5)] == ["0", "1", "2", "3", "4"]


def test_a_request_of_an_async_adapter_can_be_cancelled(ready):
    worker = ready("""
        import asyncio
        class Agent:
            async def run(self, question):
                await asyncio.sleep(60 if question == "long" else 0)
                return "done"
    """)
    long = worker.send("long")
    worker.say({"type": "cancel", "request": long})
    worker.say({"type": "cancel", "request": 99})
    reply = worker.hear()
    assert (reply["request"], reply["kind"]) == (long, "cancelled")
    assert worker.ask("short")["answer"] == "done"


def test_a_request_that_waits_behind_a_plain_one_can_be_cancelled(ready, tmp_path):
    worker = ready("""
        import os, time
        class Agent:
            def run(self, question):
                while question == "first" and not os.path.exists(os.environ["TEST_FOLDER"] + "/go"):
                    time.sleep(0.01)
                return question
    """)
    first = worker.send("first")
    second = worker.send("second")
    worker.say({"type": "cancel", "request": second})
    (tmp_path / "go").touch()
    replies = {reply["request"]: reply for reply in (worker.hear(), worker.hear())}
    assert replies[first]["answer"] == "first"
    assert replies[second]["kind"] == "cancelled"


def test_shutdown_lets_the_agent_and_its_exit_hooks_finish(ready):
    worker = ready("""
        import atexit
        atexit.register(print, "exit hook ran")
        class Agent:
            def run(self, question): return "ok"
            def close(self): print("closed")
    """)
    started = time.monotonic()
    assert worker.shut_down() == 0
    assert time.monotonic() - started < 5
    assert "closed\nexit hook ran" in worker.log()


def test_a_close_that_fails_is_noted_in_the_log_only(ready):
    worker = ready("class Agent:\n    def run(self, q): return 'ok'\n    def close(self): raise ValueError('late')")
    assert worker.shut_down() == 0
    assert "ValueError: late" in worker.log()
