"""The agent's adapter: made, initialised, asked, closed."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from bench_worker.loading import StartFailed, Target, sentence_of
from bench_worker.reply import plain_json


class Adapter:
    """One adapter, ready to be asked."""

    def __init__(self, agent: Any, *, identity: dict[str, Any]) -> None:
        """`agent` has `run`; `identity` is what `ready` says of it."""
        self.agent = agent
        self.identity = identity
        self.run = agent.run
        self.concurrent = _is_async(agent.run)
        self._takes_all, self._names = _parameters(agent.run)

    @classmethod
    def start(cls, target: Target, *, loop: asyncio.AbstractEventLoop) -> Adapter:
        """Make the agent, call its `init` and `describe`. Raises StartFailed of kind `init_error`."""
        try:
            agent = target.value
            if inspect.isclass(agent) or (callable(agent) and not hasattr(agent, "run")):
                agent = finish(agent(), loop=loop)
            if not callable(getattr(agent, "run", None)):
                raise StartFailed(
                    f"{target.name} gives a {type(agent).__name__}, which has no `run`", kind="init_error"
                )
            if hasattr(agent, "init"):
                finish(agent.init(), loop=loop)
            described = finish(agent.describe(), loop=loop) if hasattr(agent, "describe") else None
        except StartFailed:
            raise
        except BaseException as error:  # SystemExit too: it ends the worker either way, and this says why
            message = f"{target.name} could not be initialised: {sentence_of(error)}"
            raise StartFailed(message, kind="init_error", cause=error) from error
        if not isinstance(described, (Mapping, type(None))):
            message = f"{target.name}: `describe()` must return a mapping, not a {type(described).__name__}"
            raise StartFailed(message, kind="init_error")
        identity = {
            "distribution": target.distribution,
            "version": target.version,
            "describe": plain_json(described),
        }
        return cls(agent, identity=identity)

    def arguments(self, kwargs: dict[str, Any], *, context: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments that `run` takes, `context` among them where it is a parameter by that name."""
        taken = kwargs if self._takes_all else {name: kwargs[name] for name in kwargs if name in self._names}
        if "context" in self._names and "context" not in taken:
            return {**taken, "context": context}
        return taken

    def close(self, *, loop: asyncio.AbstractEventLoop) -> None:
        """Call the agent's `close`, if it has one."""
        if hasattr(self.agent, "close"):
            finish(self.agent.close(), loop=loop)


def finish(value: Any, *, loop: asyncio.AbstractEventLoop) -> Any:
    """Return `value`, or what it comes to on `loop` where it is awaitable."""
    return loop.run_until_complete(_await(value)) if inspect.isawaitable(value) else value


async def _await(value: Any) -> Any:
    return await value


def _is_async(run: Any) -> bool:
    return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(getattr(run, "__call__", None))  # noqa: B004


def _parameters(run: Any) -> tuple[bool, frozenset[str]]:
    """Return whether `run` takes any keyword, and the names it has besides the question's."""
    try:
        parameters = list(inspect.signature(run).parameters.values())
    except (TypeError, ValueError):  # compiled code may have no signature
        return True, frozenset()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if parameters and parameters[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        named = named[1:]  # the question
    return any(p.kind is p.VAR_KEYWORD for p in parameters), frozenset(p.name for p in named)
