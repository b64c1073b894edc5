"""A judge's endpoint that answers after a constant time, and the barest client of it. Standard library only.

`endpoint.py serve SECONDS` prints its port; `endpoint.py ask PORT COUNT AT_ONCE` prints requests a second.
"""

import asyncio
import json
import sys
import time

CONTENT = json.dumps({"reason": "the same city", "label": "correct"})
BODY = json.dumps({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": CONTENT}}]})
REPLY = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}".encode()
REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1500\r\n\r\n" + b"x" * 1500


class Connection(asyncio.Protocol):
    """Answers each request `seconds` after it was whole."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Start the clock of each request that is whole."""
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, rest = self.received.partition(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            if len(rest) < length:
                return
            self.received = rest[length:]
            asyncio.get_running_loop().call_later(self.seconds, self.transport.write, REPLY)


async def serve(seconds: float) -> None:
    """Serve for ever."""
    server = await asyncio.get_running_loop().create_server(lambda: Connection(seconds), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


async def ask(port: int, count: int, at_once: int) -> float:
    """Send `count` requests over `at_once` connections; return the requests a second."""
    left = iter(range(count))
    pipes = [await asyncio.open_connection("127.0.0.1", port) for _ in range(at_once)]

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in left:
            writer.write(REQUEST)
            await reader.readexactly(len(REPLY))

    began = time.perf_counter()
    await asyncio.gather(*(one(*pipe) for pipe in pipes))
    return count / (time.perf_counter() - began)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(float(sys.argv[2])))
    else:
        sys.stdout.write(f"{asyncio.run(ask(*map(int, sys.argv[2:])))}\n")
