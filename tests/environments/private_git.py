"""A git server on 127.0.0.1 behind a password: git's own http-backend under a small WSGI server."""

import base64
import hmac
import subprocess
import threading
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


class PrivateGit:
    """Serves `root/*.git` for fetching, to one user."""

    def __init__(self, root: Path, *, user: str, password: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.user, self.password = user, password
        self.passwords: dict[str, str] = {}
        """Passwords of single repositories, by the beginning of their path; `password` is that of the others."""
        self.seen: list[str] = []
        """The `Authorization` header of each request, empty where there was none."""
        self._backend = subprocess.check_output(["git", "--exec-path"], text=True).strip() + "/git-http-backend"

    def __enter__(self) -> "PrivateGit":
        self._server = make_server("127.0.0.1", 0, self._answer, server_class=_Server, handler_class=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(timeout=10)
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def _answer(self, environ, start_response):
        given = environ.get("HTTP_AUTHORIZATION", "")
        self.seen.append(given)
        path = environ["PATH_INFO"]
        password = next((own for start, own in self.passwords.items() if path.startswith(start)), self.password)
        wanted = "Basic " + base64.b64encode(f"{self.user}:{password}".encode()).decode()
        if not hmac.compare_digest(given, wanted):
            start_response("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="git"'), ("Content-Length", "0")])
            return [b""]
        variables = {
            "PATH": "/usr/bin:/bin",
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": self.user,
            "REMOTE_ADDR": "127.0.0.1",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "GIT_PROTOCOL": environ.get("HTTP_GIT_PROTOCOL", ""),
            **{name: environ.get(name, "") for name in ("PATH_INFO", "QUERY_STRING", "REQUEST_METHOD", "CONTENT_TYPE")},
        }
        if "HTTP_CONTENT_ENCODING" in environ:
            variables["HTTP_CONTENT_ENCODING"] = environ["HTTP_CONTENT_ENCODING"]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        variables["CONTENT_LENGTH"] = str(len(body))
        answer = subprocess.run(
            [self._backend], input=body, env=variables, capture_output=True, timeout=60, check=False
        )
        head, _, content = answer.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        start_response(fields.pop("Status", "200 OK"), [*fields.items(), ("Content-Length", str(len(content)))])
        return [content]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass
