"""A TCP proxy that breaks connections where a test wants them broken."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

TIMEOUT_SEC = 30


class CuttingProxy:
    """Passes bytes between clients on `url` and one server, until it is told not to."""

    def __init__(self, target: str) -> None:
        """`target` is the server's `http://host:port`."""
        parts = urlsplit(target)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts_left = 0
        """How many more answers are cut off after `cut_after` bytes."""
        self.cut_after = 0
        self.swallow = False
        """True when a cut answer is not passed on at all, so that the client knows nothing of what was done."""
        self.hold_after: int | None = None
        """Requests longer than so many bytes are passed on that far and then held, for ever; None holds none."""
        self.holds = threading.Event()
        """Set once a request is held."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no further connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target, TIMEOUT_SEC)
                client.settimeout(TIMEOUT_SEC)
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        passed = 0
        with suppress(OSError):
            while piece := client.recv(65536):
                server.sendall(piece)
                passed += len(piece)
                if self.hold_after is not None and passed > self.hold_after:
                    self.holds.set()
                    while client.recv(65536):  # swallow the rest, until the client is gone
                        pass
        self._end(client, server)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        passed = 0
        with suppress(OSError):
            while piece := server.recv(65536):
                if not (self.swallow and self.cuts_left):
                    client.sendall(piece)
                passed += len(piece)
                if self.cuts_left and passed > self.cut_after:
                    self.cuts_left -= 1
                    break
        self._end(client, server)

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def cutting_proxy(target: str) -> Iterator[CuttingProxy]:
    """Run a proxy in front of `target`."""
    proxy = CuttingProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
