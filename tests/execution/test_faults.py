"""What goes wrong with agents and workers, and what becomes of the question, the attempt and the others."""

import time

import pytest

from tests.execution.conftest import execution, processes_with


def test_an_error_of_the_agent_is_a_row_and_the_worker_goes_on(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                if question == "db": raise TimeoutError("db")
                if question == "none": return None
                return str(os.getpid())
    """)
    settled = bench.ask("a", "db", "none", "b", timeout_sec=600)
    error = settled["db"].error
    assert (error.kind, error.message, error.limit) == ("agent_error", "TimeoutError: db", None)
    assert "in run" in error.traceback
    assert settled["db"].answer is None
    assert settled["none"].error.kind == "bad_answer"
    assert settled["a"].answer == settled["b"].answer
    assert bench.result.errors == {"agent_error": 1, "bad_answer": 1}


def test_a_failed_attempt_is_repeated_after_a_growing_pause_and_every_attempt_is_kept(bench):
    bench.adapter("""
        class Agent:
            tries = 0
            def run(self, question):
                Agent.tries += 1
                if Agent.tries < 4: raise ValueError(f"try {Agent.tries}")
                return "at last"
    """)
    record = bench.ask("q", retries=3, retry_backoff_sec=0.1)["q"]
    assert (record.answer, record.attempt, record.error) == ("at last", 4, None)
    assert [attempt.number for attempt in record.attempts] == [1, 2, 3, 4]
    assert [attempt.cause for attempt in record.attempts] == ["agent_error"] * 3 + ["answered"]
    assert record.attempts[1].message == "ValueError: try 2"
    pauses = [attempt.backoff_sec for attempt in record.attempts]
    assert pauses[0] == 0
    for pause, least in zip(pauses[1:], (0.1, 0.2, 0.4), strict=True):
        assert least <= pause <= least * 1.25 + 0.001


def test_a_pause_before_a_retry_keeps_no_worker_from_other_questions(bench):
    bench.adapter("class Agent:\n    def run(self, question): return 1 / 0 if question == 'bad' else question")
    started = time.monotonic()
    with bench.engine(retries=1, retry_backoff_sec=1.5) as engine, bench.journal() as journal:
        seen = []

        def executions():
            yield execution("bad")
            for number in range(20):
                seen.append(time.monotonic() - started)
                yield execution(f"q{number}")

        engine.run(executions(), journal=journal, shard="000")
        assert journal.read(execution("bad").execution_id).attempt == 2
    assert seen[-1] < 1.5


def test_each_cause_can_have_a_retry_budget_of_its_own(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                if question == "crash": os._exit(3)
                raise ValueError
    """)
    settled = bench.ask("crash", "raise", retries=2, retries_by_cause={"crash": 0})
    assert (settled["crash"].attempt, settled["raise"].attempt) == (1, 3)


def test_attempts_of_an_earlier_process_keep_their_numbers_and_the_budget_begins_anew(bench):
    bench.adapter("class Agent:\n    def run(self, question): raise ValueError")
    first = bench.ask("q", retries=1)["q"]
    again = bench.ask(execution("q", attempts=first.attempts), retries=1)["q"]
    assert [attempt.number for attempt in again.attempts] == [1, 2, 3, 4]
    assert again.attempt == 4
    assert again.started_at == first.started_at


def test_a_timeout_says_which_limit_fired_and_a_late_reply_answers_nobody(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                if question == "slow":
                    signal.signal(signal.SIGTERM, lambda *_: None)
                    time.sleep(1.5)
                    return "A"
                return "B"
    """)
    settled = bench.ask("slow", "next", timeout_sec=0.5)
    error = settled["slow"].error
    assert (error.kind, error.limit) == ("timeout", "timeout_sec=0.5")
    assert error.message.startswith("no answer after 0.")
    assert settled["slow"].attempts[0].limit == "timeout_sec=0.5"
    assert settled["next"].answer == "B"
    assert settled["slow"].attempts[0].worker != settled["next"].attempts[0].worker


def test_an_agent_that_ignores_sigterm_and_its_hidden_children_are_gone_in_time(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
                subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
                subprocess.Popen("setsid sleep 600 & exit 0", shell=True).wait()
                subprocess.Popen(["setsid", "sleep", "600"], env={})
                open(FOLDER + "/hanging", "w").close()
                while True: pass
    """)
    started = time.monotonic()
    settled = bench.ask("q", timeout_sec=1.0)
    assert settled["q"].error.kind == "timeout"
    assert bench.touched("hanging")
    assert not processes_with(bench.tag)
    assert time.monotonic() - started < 1.0 + 5.0 + 1.0  # the start of the worker comes on top


def test_processes_are_found_and_ended_even_when_the_workers_keeper_was_killed(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                subprocess.Popen("setsid sleep 600 & exit 0", shell=True).wait()
                subprocess.Popen(["sleep", "600"], start_new_session=True)
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(600)
    """)
    error = bench.ask("q")["q"].error
    assert error.kind == "killed"
    assert "SIGKILL" in error.message


def test_others_in_flight_on_a_worker_that_timed_out_lose_no_attempt(bench):
    bench.adapter("""
        class Agent:
            async def run(self, question):
                if question == "slow": await asyncio.sleep(600)
                await asyncio.sleep(0.3)
                return question
    """)
    with bench.engine(concurrency=16, timeout_sec=1.0) as engine, bench.journal() as journal:
        questions = ["slow", *(f"q{number}" for number in range(40))]
        engine.run([execution(question) for question in questions], journal=journal, shard="000")
        records = {question: journal.read(execution(question).execution_id) for question in questions}
    assert records["slow"].error.kind == "timeout"
    assert all(records[question].answer == question for question in questions[1:])
    assert all(record.attempt == 1 for record in records.values())


@pytest.mark.parametrize("before", [50, 300], ids=["one ahead", "many ahead"])
@pytest.mark.parametrize("fault", ["os._exit(1)", "time.sleep(600)"])
def test_a_question_that_only_waited_for_its_turn_loses_no_attempt(bench, fault, before):
    bench.adapter(f"""
        class Agent:
            def run(self, question):
                open(FOLDER + "/asked", "a").write(question + "\\n")
                if question == "bad": {fault}
                return question
    """)
    questions = [*(f"a{number}" for number in range(before)), "bad", *(f"b{number}" for number in range(100))]
    settled = bench.ask(*questions, timeout_sec=2.0)
    assert settled.pop("bad").error.kind in ("crash", "timeout")
    assert all(record.answer == question and record.attempt == 1 for question, record in settled.items())
    assert sorted(bench.lines("asked")) == sorted(questions)


def test_the_time_of_a_question_runs_from_its_turn(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                if question.startswith("slow"): time.sleep(1.2)
                return question
    """)
    questions = ["a", "b", "slow 1", "slow 2", *(f"c{number}" for number in range(10))]
    settled = bench.ask(*questions, timeout_sec=2.0)
    assert all(record.error is None for record in settled.values())
    assert settled["slow 2"].duration_ms < 1900
    assert settled["slow 1"].started_at < settled["slow 2"].started_at < settled["c0"].started_at


@pytest.mark.parametrize(
    ("ending", "kind", "said"),
    [
        ("os._exit(7)", "crash", "ended by itself with exit code 7"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "killed",
            "ended by SIGKILL (the system does that when memory runs out)",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed", "ended by SIGSEGV"),
    ],
)
def test_a_worker_that_ends_says_how_and_the_next_question_gets_a_fresh_one(bench, ending, kind, said):
    bench.adapter(f"""
        class Agent:
            def run(self, question):
                if question == "bad":
                    print("last words", flush=True)
                    {ending}
                return "fine"
    """)
    settled = bench.ask("bad", "good")
    error = settled["bad"].error
    assert error.kind == kind
    assert said in error.message
    assert "last words" in error.traceback
    assert settled["good"].answer == "fine"


def test_a_question_that_ends_its_worker_takes_no_attempt_from_those_beside_it(bench):
    bench.adapter("""
        class Agent:
            async def run(self, question):
                await asyncio.sleep(0.05)
                if question == "poison": os._exit(1)
                return question
    """)
    questions = [*(f"a{number}" for number in range(20)), "poison", *(f"b{number}" for number in range(20))]
    settled = bench.ask(*questions, concurrency=16, retries=1)
    poison = settled.pop("poison")
    assert (poison.error.kind, poison.attempt) == ("crash", 2)
    assert all(record.answer == question and record.attempt == 1 for question, record in settled.items())
    assert bench.result.worker_starts <= 6


def test_questions_that_are_only_too_many_together_are_answered_in_smaller_groups(bench):
    bench.adapter("""
        class Agent:
            together = 0
            async def run(self, question):
                Agent.together += 1
                if Agent.together > 5: os._exit(1)
                await asyncio.sleep(0.3)
                Agent.together -= 1
                return question
    """)
    started = time.monotonic()
    questions = [f"q{number}" for number in range(16)]
    settled = bench.ask(*questions, concurrency=16)
    assert all(record.answer == question and record.attempt == 1 for question, record in settled.items())
    assert time.monotonic() - started < 16 * 0.3


@pytest.mark.parametrize(
    "line",
    [
        b"this is no JSON\n",
        b'{"type":"result","request":1,"answer":NaN,"usage":null,"meta":null,"trajectory":null,"duration":0}\n',
        b'{"type":"result","request":77,"answer":"x","usage":null,"meta":null,"trajectory":null,"duration":0}\n',
        b'{"type":"result","request":1,"answer":4,"usage":null,"meta":null,"trajectory":null,"duration":0}\n',
        b'{"type":"surprise"}\n',
        b'{"type":"result","request":1}\n',
        b'["result"]\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_line_that_is_no_message_ends_the_worker_and_only_the_question_it_worked_on(bench, line):
    bench.adapter(f"""
        class Agent:
            def run(self, question):
                if question == "bad":
                    os.write(101, {line!r})
                    time.sleep(600)
                return "fine"
    """)
    settled = bench.ask("bad", "good")
    assert settled["bad"].error.kind == "protocol_error"
    assert settled["bad"].error.message.startswith("the worker ")
    assert len(settled["bad"].error.message) < 500
    assert settled["good"].answer == "fine"


def test_a_second_reply_to_a_question_is_dropped(bench):
    reply = b'{"type":"result","request":1,"answer":"first","usage":null,"meta":null,"trajectory":null,"duration":0}\n'
    bench.adapter(f"""
        class Agent:
            def run(self, question):
                if question == "q1": os.write(101, {reply!r})
                return "second"
    """)
    settled = bench.ask("q1", "q2")
    assert (settled["q1"].answer, settled["q2"].answer) == ("first", "second")


def test_a_worker_that_closes_its_pipe_and_goes_on_is_ended(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                os.closerange(100, 110)
                time.sleep(600)
    """)
    error = bench.ask("q")["q"].error
    assert error.kind == "protocol_error"
    assert "closed its side of the protocol" in error.message


def test_a_flood_on_standard_error_blocks_nobody_and_is_kept_within_bounds(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                for _ in range(20):
                    sys.stderr.write("x" * 999_999 + "\\n")
                sys.stderr.write("the very end\\n")
                return "ok"
    """)
    started = time.monotonic()
    assert bench.ask("q", timeout_sec=10)["q"].answer == "ok"
    assert time.monotonic() - started < 10
    log = bench.log()
    assert 5_000_000 < len(log) < 5_100_000
    assert "bytes left out here" in log
    assert log.endswith("the very end\n")


def test_the_agents_secrets_stay_out_of_errors_and_logs(bench):
    bench.adapter("""
        class Agent:
            def run(self, question):
                print("key is", os.environ["MY_API_KEY"])
                if question == "raise": raise ValueError("bad key " + os.environ["MY_API_KEY"])
                os._exit(1)
    """)
    settled = bench.ask("raise", "crash", launch={"env": {"MY_API_KEY": "sk-very-secret-value"}})
    for record in settled.values():
        assert "sk-very-secret-value" not in record.model_dump_json()
        assert record.error is not None
    for log in (bench.folder / "logs").iterdir():
        assert "sk-very-secret-value" not in log.read_text(encoding="utf-8")
        assert "key is ***" in log.read_text(encoding="utf-8")
