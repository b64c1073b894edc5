"""Runs one agent's adapter for bench-assets, as a process inside the agent's own environment.

Started by bench-assets, or by hand to try an adapter::

    python -u -m bench_worker --entry-point NAME
    python -u -m bench_worker --import-path MODULE:ATTRIBUTE

The protocol, version 1
=======================

One JSON object a line, UTF-8, strict (no NaN), at most 64 MiB a line. At start the worker keeps private duplicates of
descriptors 0 and 1 for it; then 0 reads /dev/null and 1 is standard error, so nothing that the agent or a child of it
prints or reads can touch the protocol.

From bench-assets, on the private standard input:

``{"type": "ask", "request": 1, "question": "…", "kwargs": {…}, "context": {…}}``
    Ask the adapter. ``request`` is a positive integer that no other ask of this worker has. ``kwargs`` is handed to
    ``run`` as far as it takes them; ``context`` holds ``run_id``, ``question_id``, ``repetition`` (from 1) and
    ``traceparent`` (W3C), and is handed over when ``run`` has a parameter named ``context``.
``{"type": "cancel", "request": 1}``
    Give a request up. An async ``run`` is cancelled; an ask that has not begun is dropped. Answered by an ``error`` of
    kind ``cancelled``; nothing happens when the request is over.
``{"type": "shutdown"}``
    Call the adapter's ``close()`` and end with exit code 0. The end of standard input means the same, in a hurry.

To bench-assets, on the private standard output:

``{"type": "ready", "protocol": 1, "python": "3.11.7", "concurrent": true, "agent": {…}}``
    First message, once the adapter is loaded and initialised. ``concurrent`` is true when ``run`` is async: many asks
    may then be open at once. ``agent`` holds ``distribution`` and ``version`` of what the adapter came from and
    ``describe``, what its ``describe()`` said; each null where there is none.
``{"type": "start_failed", "kind": "…", "message": "…", "traceback": "…" | null}``
    Instead of ``ready``, before exit code 1. Kinds: ``import_error`` (the adapter's code could not be imported),
    ``no_entry_point`` (no such name; the message lists those there are), ``init_error`` (it could not be made or
    initialised).
``{"type": "result", "request": 1, "answer": "…", "usage": …, "meta": …, "trajectory": …, "duration": 0.8}``
    The answer's text; ``usage`` and ``meta`` are objects or null, ``trajectory`` is anything; ``duration`` is the
    seconds that ``run`` took. NaN and infinities have become null, lone surrogates U+FFFD.
``{"type": "error", "request": 1, "kind": "…", "message": "…", "traceback": "…" | null, "duration": 0.8}``
    Kinds: ``agent_error`` (``run`` raised, whatever it was), ``bad_answer`` (it returned something that is no text),
    ``cancelled``.

The adapter
===========

An object with ``run(question, **kwargs)``, or a class or function (plain or async) that makes one without arguments.
``run`` returns text, or a mapping with ``answer`` and, if it likes, ``usage``, ``meta`` and ``trajectory``. ``init()``,
``close()`` and ``describe()`` are optional. Each may be plain or async; one event loop serves all of them for the whole
life of the worker. A plain ``run`` is called in the main thread, one question at a time, and the loop stands still
meanwhile; asks that arrive early wait for their turn. Entry-point groups: ``bencher_agents`` and ``bench_agents``.

The processes
=============

The process that was started only keeps watch: the adapter runs in a child of it, see `bench_worker.keeper`. Where the
variable ``BENCH_WORKER_SCRATCH`` names the working directory, that is removed when bench-assets is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from bench_worker import keeper
from bench_worker.adapter import Adapter
from bench_worker.channel import Channel
from bench_worker.loading import StartFailed, load
from bench_worker.serving import serve

PROTOCOL = 1


def main(arguments: list[str] | None = None) -> int:
    """Keep watch, load the adapter, serve until told to stop; return the exit code."""
    options = _options().parse_args(arguments)
    channel = Channel.take_over()
    keeper.split(channel)
    # A ^C at the terminal is the orchestrator's business. A handler instead of SIG_IGN: the agent's own children would
    # inherit SIG_IGN, and could not be interrupted by the agent.
    signal.signal(signal.SIGINT, lambda *_: None)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        adapter = Adapter.start(load(entry_point=options.entry_point, import_path=options.import_path), loop=loop)
    except StartFailed as failure:
        channel.send(
            {"type": "start_failed", "kind": failure.kind, "message": failure.message, "traceback": failure.traceback}
        )
        return 1
    channel.send(
        {
            "type": "ready",
            "protocol": PROTOCOL,
            "python": ".".join(map(str, sys.version_info[:3])),
            "concurrent": adapter.concurrent,
            "agent": adapter.identity,
        }
    )
    serve(adapter, channel, loop=loop)
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -u -m bench_worker", description="Serve one agent's adapter.")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--entry-point", metavar="NAME", help="a name in the group bencher_agents or bench_agents")
    way.add_argument("--import-path", metavar="MODULE:ATTRIBUTE", help="where the adapter is, as an import path")
    return parser


if __name__ == "__main__":
    sys.exit(main())
