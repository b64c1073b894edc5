"""Posts one message to a webhook that takes Slack's JSON: `{"text": …}`."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from bench_assets.contracts.notification import Event, Notify
from bench_assets.errors import BenchError, InvalidInput
from bench_assets.redaction import Redactor

TIMEOUT_SEC = 10.0
PAUSES_SEC = (0.5, 2.0)
"""Between the attempts; after the last one the message is given up."""
LONGEST = 3000
"""Characters of a message's reasons; Slack cuts texts at 4,000."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """What is to be told."""

    event: Event
    subject: str
    """A candidate's key, or the name of what failed."""
    reasons: str
    """Sentences; may quote agents and servers."""
    path: str
    """Of the page in Dagster's UI: `/runs/…`."""


def payload(message: Message, *, notify: Notify, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the JSON for a message, without secrets, and without markup of its own in what others wrote."""
    redact = Redactor()
    redact.add_variables(environ)
    redact.add(environ.get(notify.webhook_variable, ""))
    reasons = message.reasons if len(message.reasons) <= LONGEST else message.reasons[: LONGEST - 1] + "…"
    link = f"{notify.ui_url.rstrip('/')}{message.path}" if notify.ui_url else ""
    fields = {"event": message.event, "subject": message.subject, "reasons": reasons, "link": link}
    text = Template(notify.template).substitute({name: _plain(redact(value)) for name, value in fields.items()})
    return {"text": text.strip()}


def post(message: Message, *, notify: Notify, environ: Mapping[str, str]) -> None:
    """Post a message; tries again when the server does not answer or is overloaded.

    Raises InvalidInput when the webhook's variable is not set, and BenchError, without the URL, when nothing helps.
    """
    url = environ.get(notify.webhook_variable, "")
    if not url.startswith(("https://", "http://")):
        raise InvalidInput(
            f"`notify` takes the webhook's URL from the variable `{notify.webhook_variable}`, which holds none here. "
            "Set it where Dagster's code location runs, or take `notify` out of the deployment's file."
        )
    body = json.dumps(payload(message, notify=notify, environ=environ)).encode("utf-8")
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    for pause in (*PAUSES_SEC, None):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SEC):
                return
        except urllib.error.HTTPError as error:
            reason, again = f"it answered {error.code}", error.code == 429 or error.code >= 500
        except OSError as error:
            reason, again = f"it does not answer ({getattr(error, 'reason', error)})", True
        if not again or pause is None:
            break
        time.sleep(pause)
    raise BenchError(
        f"`{message.event}` of `{message.subject}` could not be told to the webhook in `{notify.webhook_variable}`: "
        f"{reason}."
    )


def _plain(text: str) -> str:
    # Slack's three signs of markup: otherwise a quoted `<!channel>` would wake everybody.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
