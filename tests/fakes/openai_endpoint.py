"""An endpoint compatible with OpenAI's chat completions that answers, or misbehaves, on script.

::

    with OpenAIEndpoint(error(429, headers={"Retry-After": "1"}), verdict("correct")) as endpoint:
        …  # ask `endpoint.base_url`
    assert len(endpoint.requests) == 2

Replies are used up in order, one a request; one may also be a function that makes it from the request. After them (or
from the start, when there are none) `answer` makes the reply from the request; without it every further request gets
status 500.
"""

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the endpoint does with one request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    cut: int | None = None
    """Close the connection after so many bytes of the body; None sends all of it."""
    drip: float = 0.0
    """Seconds between single bytes of the body; 0 sends it at once."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]
    at: float
    """`time.monotonic()` of its arrival."""
    in_flight: int
    """Requests under way at that moment, this one included."""

    @property
    def system(self) -> str:
        return self.body["messages"][0]["content"]

    @property
    def user(self) -> str:
        return self.body["messages"][-1]["content"]

    @property
    def judged(self) -> dict[str, Any]:
        """The question, golden and answer that the request is about."""
        return next(json.loads(line) for line in self.user.split("\n") if line.startswith("{"))


def completion(content: Any, *, finish_reason: str = "stop", **message: Any) -> bytes:
    """The body of a chat completion."""
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": {"role": "assistant", "content": content, **message},
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
    ).encode()


def says(content: Any, *, finish_reason: str = "stop", delay: float = 0.0, **message: Any) -> Reply:
    """A reply of status 200 with this text."""
    return Reply(body=completion(content, finish_reason=finish_reason, **message), delay=delay)


def verdict(label: str, reason: str = "because", *, delay: float = 0.0) -> Reply:
    """A well-formed verdict."""
    return says(json.dumps({"reason": reason, "label": label}), delay=delay)


def error(status: int, message: str = "no", *, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    """An error in the form that OpenAI gives it."""
    return Reply(
        status=status, body=json.dumps({"error": {"message": message, **fields}}).encode(), headers=headers or {}
    )


class OpenAIEndpoint:
    """The endpoint, on a free port of 127.0.0.1, for as long as the `with` block lasts."""

    def __init__(
        self, *replies: Reply | Callable[[Request], Reply], answer: Callable[[Request], Reply] | None = None
    ) -> None:
        self.requests: list[Request] = []
        self.most_in_flight = 0
        self._replies = deque(replies)
        self._answer = answer
        self._lock = threading.Lock()
        self._in_flight = 0
        self._closing = threading.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                endpoint._serve(self)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass  # a client that gave up is what some tests want

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        with self._lock:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            request = Request(
                path=handler.path,
                headers={name.lower(): value for name, value in handler.headers.items()},
                body=json.loads(body),
                at=monotonic(),
                in_flight=self._in_flight,
            )
            self.requests.append(request)
            reply = self._replies.popleft() if self._replies else None
        try:
            if reply is None:
                reply = self._answer or error(500, "the script is over")
            if not isinstance(reply, Reply):
                reply = reply(request)
            self._closing.wait(reply.delay)
        finally:
            with self._lock:
                self._in_flight -= 1
        self._send(handler, reply)

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        handler.send_response_only(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.end_headers()
        if reply.drip:
            for byte in reply.body:
                if self._closing.wait(reply.drip):
                    break
                handler.wfile.write(bytes([byte]))
            return
        handler.wfile.write(reply.body if reply.cut is None else reply.body[: reply.cut])
        if reply.cut is not None:
            handler.close_connection = True
