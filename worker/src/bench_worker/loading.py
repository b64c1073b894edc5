"""From a name to the thing it names, with every way to fail told apart."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import traceback
from dataclasses import dataclass
from typing import Any

GROUPS = ("bencher_agents", "bench_agents")


class StartFailed(Exception):
    """Raised when there is no adapter to serve. `kind` is one of the contract's kinds of `start_failed`."""

    def __init__(self, message: str, *, kind: str, cause: BaseException | None = None) -> None:
        """`cause` is what the agent's code raised; None where it raised nothing."""
        super().__init__(message)
        self.kind = kind
        self.message = message[:2000]
        self.traceback = None if cause is None else traceback_of(cause)


@dataclass(frozen=True)
class Target:
    """What was named, imported."""

    value: Any
    name: str
    """How it was named, for messages."""
    distribution: str | None
    version: str | None
    """Of the distribution that it came from; None where that cannot be told."""


def load(*, entry_point: str | None = None, import_path: str | None = None) -> Target:
    """Import what the entry point or import path names. Raises StartFailed."""
    if import_path is not None:
        value = _import(import_path, name=f"import path `{import_path}`")
        distribution = _distribution_of(import_path.partition(":")[0].partition(".")[0])
        return _target(value, name=f"`{import_path}`", distribution=distribution)
    found = _entry_points()
    matching = {point.value: (point, distribution) for point, distribution in found if point.name == entry_point}
    if not matching:
        names = ", ".join(f"`{name}`" for name in sorted({point.name for point, _ in found})) or "none"
        raise StartFailed(
            f"no entry point `{entry_point}` in the groups {' and '.join(f'`{group}`' for group in GROUPS)}; "
            f"available: {names}",
            kind="no_entry_point",
        )
    if len(matching) > 1:
        places = ", ".join(
            f"`{value}` of {distribution.metadata['Name']}" for value, (_, distribution) in matching.items()
        )
        raise StartFailed(f"several entry points are named `{entry_point}`: {places}", kind="no_entry_point")
    ((point, distribution),) = matching.values()
    value = _import(point.value.split("[")[0].strip(), name=f"entry point `{entry_point}` = `{point.value}`")
    return _target(value, name=f"`{point.value}`", distribution=distribution)


def _target(value: Any, *, name: str, distribution: importlib.metadata.Distribution | None) -> Target:
    if distribution is None:
        return Target(value, name, None, None)
    return Target(value, name, distribution.metadata["Name"], distribution.version)


def _entry_points() -> list[tuple[importlib.metadata.EntryPoint, importlib.metadata.Distribution]]:
    """Return our groups' entry points. Of a distribution that is found twice, the first on the path counts."""
    seen: set[str] = set()
    found = []
    for distribution in importlib.metadata.distributions():
        name = _normal(distribution.metadata["Name"] or "")
        if name not in seen:
            seen.add(name)
            found += [(point, distribution) for point in distribution.entry_points if point.group in GROUPS]
    return found


def _import(path: str, *, name: str) -> Any:
    module_name, _, attributes = path.partition(":")
    try:
        value: Any = importlib.import_module(module_name)
    except BaseException as error:  # SystemExit too: some modules end the process when they are imported
        raise StartFailed(f"importing {name} failed: {sentence_of(error)}", kind="import_error", cause=error) from error
    for attribute in filter(None, attributes.split(".")):
        try:
            value = getattr(value, attribute)
        except BaseException as error:
            near = ", ".join(f"`{known}`" for known in dir(value) if not known.startswith("_"))[:500]
            raise StartFailed(
                f"{name}: `{module_name}` was imported, but has no `{attribute}`; it has {near or 'nothing'}",
                kind="import_error",
                cause=error,
            ) from error
    return value


def _distribution_of(top: str) -> importlib.metadata.Distribution | None:
    """Return the distribution that installed the top-level module `top`; a guess by name for editable installs."""
    namesake = None
    for distribution in importlib.metadata.distributions():
        record = distribution.read_text("RECORD") or ""
        listed = (distribution.read_text("top_level.txt") or "").split()
        if top in listed or re.search(rf"^{re.escape(top)}(/|\.py,)", record, re.MULTILINE):
            return distribution
        if _normal(distribution.metadata["Name"] or "") == _normal(top):
            namesake = distribution
    return namesake


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def sentence_of(error: BaseException) -> str:
    """Return `Type: text` of an exception, at most 2,000 characters, whatever its `__str__` does."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be shown)"
    return (f"{name}: {text}" if text else name)[:2000]


def traceback_of(error: BaseException) -> str:
    """Return the last 4,000 characters of the exception's traceback, without our own frames."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_globals.get("__name__", "").startswith("bench_worker."):
        frames = frames.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, frames))[-4000:]
    except Exception:
        return sentence_of(error)
