"""Ports for servers that the tests start."""

import socket
from contextlib import ExitStack

HIGHEST = 45_000
"""SeaweedFS listens on each of its ports and on the one 10,000 above it."""


def free_ports(count: int, *, above: int = 0) -> list[int]:
    """Return `count` ports of 127.0.0.1 below `HIGHEST` on which, like on those `above` higher, nobody listens."""
    import random

    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = random.SystemRandom().randrange(20_000, HIGHEST)
            try:
                for number in {port, port + above}:
                    held.enter_context(socket.create_server(("127.0.0.1", number)))
            except OSError:
                continue
            found.append(port)
    return found
