"""Asking the adapter: one question at a time, or many at once on the event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Collection
from functools import partial
from typing import Any

from bench_worker.adapter import Adapter, finish
from bench_worker.channel import Channel
from bench_worker.loading import traceback_of
from bench_worker.reply import failure_line, result_line


def serve(adapter: Adapter, channel: Channel, *, loop: asyncio.AbstractEventLoop) -> None:
    """Answer asks until `shutdown` or the end of input; then close the adapter and the loop."""
    if adapter.concurrent:
        _Concurrent(adapter, channel, loop=loop).serve()
    else:
        _serve_one_by_one(adapter, channel, loop=loop)
    try:
        adapter.close(loop=loop)
    except BaseException as error:  # nobody waits for an answer any more: the log is the place for it
        sys.stderr.write(f"The adapter's `close` failed:\n{traceback_of(error)}\n")
    loop.run_until_complete(_cancel_all())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


async def _cancel_all() -> None:
    await _cancel(asyncio.all_tasks() - {asyncio.current_task()})


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel `tasks` and wait for them, so that the agent's own clean-up code runs."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _serve_one_by_one(adapter: Adapter, channel: Channel, *, loop: asyncio.AbstractEventLoop) -> None:
    # The main thread itself reads: no hand-over between threads on the way of a question. That nobody reads while `run`
    # is busy is harmless, as the keeper watches the pipe for its end.
    waiting: deque[dict[str, Any]] = deque()
    while True:
        # With asks in the queue, a look at what came meanwhile: it may take one of them back.
        if not waiting or channel.has_input():
            messages = channel.receive()
            if messages is None:
                return
            for message in messages:
                if message["type"] == "cancel":
                    _drop(message["request"], waiting, channel)
                else:
                    waiting.append(message)
            if not waiting:
                continue
        message = waiting.popleft()
        if message["type"] == "shutdown":
            return
        if message["type"] == "ask":
            channel.send_line(_ask(adapter, message, loop=loop))


def _drop(request: int, waiting: deque[dict[str, Any]], channel: Channel) -> None:
    for message in [one for one in waiting if one.get("request") == request]:
        waiting.remove(message)
        dropped = asyncio.CancelledError("given up by bench-assets before it began")
        channel.send_line(failure_line(request, dropped, duration=0.0, kind="cancelled"))


def _ask(adapter: Adapter, message: dict[str, Any], *, loop: asyncio.AbstractEventLoop) -> bytes:
    """Return the reply's line. Whatever the agent raises, SystemExit and KeyboardInterrupt too, is its answer."""
    request = message["request"]
    started = time.perf_counter()
    try:
        value = adapter.run(message["question"], **adapter.arguments(message["kwargs"], context=message["context"]))
        value = finish(value, loop=loop)
        return result_line(request, value, duration=time.perf_counter() - started)
    except BaseException as error:
        return failure_line(request, error, duration=time.perf_counter() - started)


class _Concurrent:
    """Serves an async `run`: each ask is a task on the one loop."""

    def __init__(self, adapter: Adapter, channel: Channel, *, loop: asyncio.AbstractEventLoop) -> None:
        self.adapter = adapter
        self.channel = channel
        self.loop = loop
        self.tasks: dict[int, asyncio.Task[bytes]] = {}
        self.cancelled: set[int] = set()
        self.done = False

    def serve(self) -> None:
        os.set_blocking(self.channel.source, False)
        self.loop.add_reader(self.channel.source, self._receive)
        while not self.done:
            try:
                self.loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                # A task of the agent's own raised it. asyncio hands it to whoever awaits the task, and to us as well.
                sys.stderr.write(f"A task of the agent ended with {type(error).__name__}.\n")
        self.loop.remove_reader(self.channel.source)
        # Questions still open end before what they work with is closed.
        self.loop.run_until_complete(_cancel(list(self.tasks.values())))

    def _receive(self) -> None:
        try:
            messages = self.channel.receive()
        except BlockingIOError:
            return
        end: list[dict[str, Any]] = [{"type": "shutdown"}]
        for message in end if messages is None else messages:
            if message["type"] == "ask":
                request = message["request"]
                self.tasks[request] = task = self.loop.create_task(self._ask(message))
                task.add_done_callback(partial(self._reply, request))
            elif message["type"] == "cancel":
                if message["request"] in self.tasks:
                    self.cancelled.add(message["request"])
                    self.tasks[message["request"]].cancel()
            elif message["type"] == "shutdown":
                self.done = True
                self.loop.stop()

    async def _ask(self, message: dict[str, Any]) -> bytes:
        started = time.perf_counter()
        try:
            arguments = self.adapter.arguments(message["kwargs"], context=message["context"])
            value = await self.adapter.run(message["question"], **arguments)
            return result_line(message["request"], value, duration=time.perf_counter() - started)
        except asyncio.CancelledError as error:
            if message["request"] in self.cancelled or self.done:
                raise
            return failure_line(message["request"], error, duration=time.perf_counter() - started)
        except BaseException as error:
            return failure_line(message["request"], error, duration=time.perf_counter() - started)

    def _reply(self, request: int, task: asyncio.Task[bytes]) -> None:
        del self.tasks[request]
        self.cancelled.discard(request)
        if self.done:  # nobody waits for it any more
            return
        if task.cancelled():
            cancelled = asyncio.CancelledError("given up by bench-assets")
            self.channel.send_line(failure_line(request, cancelled, duration=0.0, kind="cancelled"))
        else:
            self.channel.send_line(task.result())
