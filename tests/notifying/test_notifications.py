"""What a channel is told of runs: verdicts and failures, without secrets, and without harm when it is down."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import dagster as dg
import pytest

from bench_assets.catalog.deployment import load_deployment
from bench_assets.contracts.deployment import Deployment
from bench_assets.contracts.notification import Notify
from bench_assets.definitions import build_definitions
from bench_assets.defs.comparison import GATE
from bench_assets.defs.notifications import messages, notification_sensors
from bench_assets.errors import BenchError, InvalidInput
from bench_assets.notifying.webhook import Message, payload, post

SECRET = "hook-s3cr3t-path"


class Channel:
    """A webhook that keeps what it is sent."""

    def __init__(self):
        self.received = []
        self.codes = []
        """The answers that come next; 200 after them."""
        channel = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                channel.received.append(body)
                self.send_response(channel.codes.pop(0) if channel.codes else 200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.environ = {"BENCH_WEBHOOK_URL": f"http://127.0.0.1:{self.server.server_port}/{SECRET}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join(timeout=10)
        self.server.server_close()


@pytest.fixture
def channel():
    with Channel() as channel:
        yield channel


def message(**fields):
    given = {"event": "NO-GO", "subject": "kg@v1 on quiz@1.0", "reasons": "Accuracy fell.", "path": "/runs/1"}
    return Message(**{**given, **fields})


def test_a_verdict_arrives_as_text_with_its_reasons_and_a_link(channel):
    post(message(), notify=Notify(ui_url="https://ui.example.org/"), environ=channel.environ)
    text = "*NO-GO* kg@v1 on quiz@1.0\nAccuracy fell.\nhttps://ui.example.org/runs/1"
    assert channel.received == [{"text": text}]


def test_the_team_words_the_message(channel):
    post(message(), notify=Notify(template="$event for $$0: $subject"), environ=channel.environ)
    assert channel.received == [{"text": "NO-GO for $0: kg@v1 on quiz@1.0"}]


def test_neither_secrets_nor_markup_of_others_get_through():
    environ = {"OPENAI_API_KEY": "sk-abcdef123456", "BENCH_WEBHOOK_URL": "https://hooks.example.org/T0/B0"}
    reasons = "<!channel> failed with sk-abcdef123456 at https://me:pw@host/x and https://hooks.example.org/T0/B0"
    text = payload(message(reasons=reasons), notify=Notify(), environ=environ)["text"]
    assert "&lt;!channel&gt; failed with *** at https://host/x and ***" in text


def test_a_busy_channel_is_tried_again_and_one_that_refuses_is_not(channel):
    channel.codes = [503, 429]
    post(message(), notify=Notify(), environ=channel.environ)
    assert len(channel.received) == 3
    channel.codes = [404]
    with pytest.raises(
        BenchError, match=r"could not be told to the webhook in `BENCH_WEBHOOK_URL`: it answered 404"
    ) as caught:
        post(message(), notify=Notify(), environ=channel.environ)
    assert SECRET not in str(caught.value)
    assert len(channel.received) == 4


def test_a_missing_variable_is_told_by_name():
    with pytest.raises(InvalidInput, match="`TEAM_HOOK`, which holds none"):
        post(message(), notify=Notify(webhook_variable="TEAM_HOOK"), environ={})


def test_nothing_is_sent_unless_the_deployment_says_so(tmp_path):
    assert [sensor.name for sensor in build_definitions([]).sensors] == ["new_git_tags"]
    told = build_definitions([], deployment=Deployment(notify=Notify()))
    assert [sensor.name for sensor in told.sensors] == ["new_git_tags", "notify_success", "notify_failure"]
    (tmp_path / "deployment.yaml").write_text("notify:\n  template: $who\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"deployment\.yaml:2: .*may hold `\$event`"):
        load_deployment(tmp_path / "deployment.yaml")


@dg.asset(
    key=["quiz", "1.0", "comparison"],
    check_specs=[dg.AssetCheckSpec(GATE, asset=["quiz", "1.0", "comparison"], blocking=True)],
)
def gated():
    """Stand for a comparison over two candidates."""
    yield dg.Output(1)
    told = "GO: kg@v1. All 3 conditions are kept.\nNO-GO: kg@v2. Accuracy fell by 9 points."
    yield dg.AssetCheckResult(passed=False, check_name=GATE, description=told)


@dg.asset
def broken():
    """Fail as our assets fail."""
    raise dg.Failure("The repository `https://host/x` does not answer.")


@pytest.mark.parametrize(
    ("asset", "expected"),
    [
        (
            gated,
            [
                ("GO", "kg@v1 on quiz@1.0", "All 3 conditions are kept."),
                ("NO-GO", "kg@v2 on quiz@1.0", "Accuracy fell by 9 points."),
            ],
        ),
        (broken, [("FAILURE", "a run: __ephemeral_asset_job__", "The repository `https://host/x` does not answer.")]),
    ],
)
def test_each_candidates_verdict_is_told_and_a_failure_with_its_sentence(asset, expected):
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([asset], instance=instance, raise_on_error=False)
        run = instance.get_run_by_id(result.run_id)
        told = [(one.event, one.subject, one.reasons) for one in messages(instance, run, failed=not result.success)]
    assert told == expected


@pytest.mark.parametrize(
    ("ours", "told"), [([gated], ["*NO-GO* kg@v2 on quiz@1.0"]), ([broken], [])], ids=["ours", "of another location"]
)
def test_the_sensor_posts_what_is_asked_for_of_our_own_assets(channel, ours, told):
    notify = Notify(events=["NO-GO"])
    _, failure = notification_sensors(ours, deployment=Deployment(notify=notify))
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([gated], instance=instance, raise_on_error=False)
        event = next(e for e in result.all_events if e.event_type == dg.DagsterEventType.RUN_FAILURE)
        context = dg.build_run_status_sensor_context(
            sensor_name=failure.name,
            dagster_event=event,
            dagster_instance=instance,
            dagster_run=instance.get_run_by_id(result.run_id),
            resources={"workspace": _Workspace(channel.environ)},
        )
        failure(context)
    assert [body["text"].splitlines()[0] for body in channel.received] == told


class _Workspace:
    def __init__(self, environ):
        self.environ = environ
