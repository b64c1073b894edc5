import base64
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench_assets.environments.cache import EnvironmentCache
from bench_assets.errors import EnvironmentFailed
from tests.environments.projects import make_wheel, said_by


@pytest.fixture
def shelf(tmp_path):
    """An HTTP server that hands out one wheel to those who know the password; its `host:port`."""
    make_wheel(tmp_path / "shelf", name="kg", version="1.0")
    wanted = "Basic " + base64.b64encode(b"bob:pw-s3cr3t").decode()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path / "shelf"))

        def send_head(self):
            if self.headers.get("Authorization") == wanted:
                return super().send_head()
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="shelf"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(timeout=10)
    server.server_close()


def test_a_private_wheel_is_installed_and_its_password_written_nowhere(cache, ask, shelf, lines):
    request = ask(f"kg @ http://bob:pw-s3cr3t@{shelf}/kg-1.0-py3-none-any.whl")
    built = cache.ensure(request)
    assert said_by(built.python) == "1.0"
    assert f"kg @ http://{shelf}/kg-1.0-py3-none-any.whl" in built.record.lock
    texts = [*lines, str(built), repr(request)]
    texts += [path.read_text("utf-8", "replace") for path in cache.root.rglob("*") if path.is_file()]
    assert not [text for text in texts if "s3cr3t" in text]


def test_a_private_wheel_is_restored_with_the_credentials_of_the_request(cache, ask, shelf, environ, tmp_path):
    request = ask(f"kg @ http://bob:pw-s3cr3t@{shelf}/kg-1.0-py3-none-any.whl")
    record = cache.ensure(request).record
    environ["UV_CACHE_DIR"] = str(tmp_path / "another-uv-cache")
    with EnvironmentCache(tmp_path / "elsewhere", environ=environ) as elsewhere:
        with pytest.raises(EnvironmentFailed, match="installing failed"):
            elsewhere.restore(record, request=ask(f"kg @ http://{shelf}/kg-1.0-py3-none-any.whl"))
        assert said_by(elsewhere.restore(record, request=request)) == "1.0"


def test_a_wrong_password_for_a_wheel_is_not_repeated(cache, ask, shelf):
    with pytest.raises(EnvironmentFailed, match="installing failed") as caught:
        cache.ensure(ask(f"http://bob:wrong-s3cr3t@{shelf}/kg-1.0-py3-none-any.whl"))
    assert "s3cr3t" not in str(caught.value)
