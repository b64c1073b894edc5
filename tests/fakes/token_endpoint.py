"""An endpoint that gives tokens for a key, then answers chat completions to whoever brings one; http or https."""

import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs

from tests.fakes.openai_endpoint import completion


class TokenEndpoint:
    """Gives `token-1`, `token-2`, … Each is good for `life` seconds, or until `revoke` is called."""

    def __init__(self, *, key: str, life: float = 1800.0, certificate: Path | None = None) -> None:
        """`certificate` is a file with a key and its certificate, for https."""
        self.key = key
        self.life = life
        self.given: list[dict[str, Any]] = []
        """What came with each request for a token that was granted."""
        self.refused = 0
        self.asked: list[str] = []
        """The token that came with each chat completion that was answered."""
        self._good = ""
        self._lock = threading.Lock()
        self._certificate = certificate

    @property
    def url(self) -> str:
        scheme = "http" if self._certificate is None else "https"
        return f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def revoke(self) -> None:
        with self._lock:
            self._good = ""

    def __enter__(self) -> Self:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, reply = endpoint._reply(
                    self.path, {name.lower(): value for name, value in self.headers.items()}, body
                )
                self.send_response_only(status)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass  # a client that does not trust us is what a test wants

        self._server = Server(("127.0.0.1", 0), Handler)
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def _reply(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        with self._lock:
            if path == "/oauth":
                if headers.get("authorization") != f"Basic {self.key}":
                    return 401, json.dumps({"code": 6, "message": f"credentials {self.key} mismatch"}).encode()
                self.given.append({"headers": headers, "form": parse_qs(body.decode())})
                self._good = f"token-{len(self.given)}-of-the-test"
                expires = int((time.time() + self.life) * 1000)
                return 200, json.dumps({"access_token": self._good, "expires_at": expires}).encode()
            token = headers.get("authorization", "").removeprefix("Bearer ")
            if not self._good or token != self._good:
                self.refused += 1
                return 401, json.dumps({"status": 401, "message": f"Token {token} has expired"}).encode()
            self.asked.append(token)
        return 200, completion(json.dumps({"reason": "because", "label": "correct"}))
