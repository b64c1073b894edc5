"""Reads YAML and JSON files that people write, keeping the line of every key."""

import json
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from bench_assets.contracts.base import first_fault

MAX_BYTES = 4_000_000
"""Larger files are no settings."""

Model = TypeVar("Model", bound=BaseModel)

Lines = dict[tuple[str, ...], int]
"""Path of a key → its line, from 1."""


class DocumentFault(Exception):
    """Raised when a file is no document of ours; callers turn it into their own error."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        """`line` counts from 1; None where the whole file is meant."""
        super().__init__(message)
        self.message = message
        self.line = line


class Document(NamedTuple):
    """A mapping read from a file."""

    values: dict[str, Any]
    lines: Lines
    texts: dict[tuple[str, ...], str]
    """Path of a scalar → its text as it stands in the file, before YAML made a number or a boolean of it."""


class _Loader(yaml.SafeLoader):
    """Builds plain values only. Dates stay text, as a version like `2026-11-29` is no date."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_document(path: Path) -> Document:
    """Return the mapping that `path` holds. Raises DocumentFault for anything else, with the line."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentFault(f"cannot be read: {error.strerror}") from error
    if len(raw) > MAX_BYTES:
        raise DocumentFault(f"has {len(raw):,} bytes; settings have at most {MAX_BYTES:,}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentFault("is not UTF-8 text", line=raw[: error.start].count(b"\n") + 1) from error
    if path.suffix == ".json":
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except ValueError as error:
            raise DocumentFault(f"is not JSON: {error}", line=getattr(error, "lineno", None)) from error
    return _read_yaml(text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _read_yaml(text: str) -> Document:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise DocumentFault("is empty")
        lines: Lines = {}
        texts: dict[tuple[str, ...], str] = {}
        _walk(node, (), lines, texts, set())
        values = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise DocumentFault(_problem(error), line=mark.line + 1 if mark else None) from error
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentFault(f"is not YAML: {error}") from error
    finally:
        loader.dispose()
    if not isinstance(values, dict):
        raise DocumentFault(f"must hold a mapping of keys to values, not a {type(values).__name__}", line=1)
    return Document(values, lines, texts)


def _problem(error: yaml.MarkedYAMLError) -> str:
    problem = str(error.problem or error)
    tag = re.search(r"constructor for the tag '([^']+)'", problem)
    if tag:
        name = tag[1].replace("tag:yaml.org,2002:", "!!")
        return f"uses the YAML tag `{name}`; only plain values are read, so write the value itself"
    return f"is not YAML: {problem}"


def _walk(
    node: yaml.Node, at: tuple[str, ...], lines: Lines, texts: dict[tuple[str, ...], str], walked: set[int]
) -> None:
    if len(at) > 50:
        raise DocumentFault("nests deeper than 50 levels", line=node.start_mark.line + 1)
    lines[at] = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        texts[at] = node.value
        return
    if id(node) in walked:  # an alias: a few lines of aliases of aliases would take for ever
        return
    walked.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _walk(item, (*at, str(number)), lines, texts, walked)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[Hashable, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            name = str(key.value)
            if name in seen and name != "<<":
                raise DocumentFault(f"has the key `{name}` twice, first on line {seen[name]}", line=line)
            seen[name] = line
            _walk(value, (*at, name), lines, texts, walked)
            lines[(*at, name)] = line


def validate(model: type[Model], values: object, document: Document, *at: str) -> Model:
    """Return `values`, found at the path `at` of `document`, as a `model`. Raises DocumentFault with the key's line."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = (*at, *(str(part) for part in fault["loc"]))
        line = next((document.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in document.lines), None)
        text = document.texts.get(place)
        if fault["type"] == "string_type" and text is not None and not isinstance(fault["input"], str):
            kind = {bool: "boolean", int: "number", float: "number", type(None): "null"}.get(
                type(fault["input"]), "value"
            )
            shown = "null" if fault["input"] is None else str(fault["input"]).lower()
            raise DocumentFault(
                f"`{'.'.join(place)}: {text}` is read as the {kind} {shown}; it must be text, so write "
                f'`{place[-1]}: "{text}"` in quotes',
                line=line,
            ) from error
        raise DocumentFault(_placed(first_fault(error), at), line=line) from error


def _placed(message: str, at: tuple[str, ...]) -> str:
    return f"{'.'.join(at)}: {message}" if at else message
