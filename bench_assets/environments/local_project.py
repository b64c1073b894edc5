"""Which folders of this machine a local project consists of.

A project may take a sibling from its own repository: `[tool.uv.sources]` with a `path`, or with `workspace = true`.
Then the sibling's files decide what is installed as well, so they are digested and copied with it, at the same place
relative to each other.
"""

import os
import tomllib
from pathlib import Path

from packaging.utils import canonicalize_name

from bench_assets.contracts.base import JsonValue, digest
from bench_assets.environments.tree import tree_digest


def project_folders(path: Path) -> tuple[Path, ...]:
    """Return the folders whose content makes up the project at `path`, that one first; for a file, only it.

    A folder inside another of them is left out. Raises nothing: a `pyproject.toml` that cannot be read is uv's to
    report.
    """
    found: list[Path] = [path]
    for folder in found:  # grows while it is walked
        found += [other for other in _named_by(folder) if other not in found]
    roots = [folder for folder in found if not any(folder != other and folder.is_relative_to(other) for other in found)]
    roots.sort(key=lambda folder: (not path.is_relative_to(folder), folder))
    return tuple(roots)


def project_name(path: Path) -> str | None:
    """Return the canonical name of the project or package file at `path`; None where only building it would tell."""
    if path.is_file():
        return canonicalize_name(path.name.partition("-")[0])
    name = _table(_pyproject(path), "project").get("name")
    return canonicalize_name(name) if isinstance(name, str) else None


def project_digest(path: Path) -> str:
    """Return 64 hex digits over everything that makes up the project at `path`. See `tree_digest`."""
    folders = project_folders(path)
    return combined_digest(path, {folder: tree_digest(folder) for folder in folders})


def combined_digest(path: Path, digests: dict[Path, str]) -> str:
    """Join the digests of a project's folders, and how they lie to each other, into one."""
    if list(digests) == [path]:
        return digests[path]
    top = next(iter(digests))
    places = {os.path.relpath(folder, top): content for folder, content in digests.items()}
    return digest({"project": os.path.relpath(path, top), "folders": places})


def _named_by(folder: Path) -> list[Path]:
    sources = _table(_pyproject(folder), "tool", "uv", "sources")
    named: list[Path] = []
    for value in sources.values():
        for option in value if isinstance(value, list) else [value]:
            if not isinstance(option, dict):
                continue
            if option.get("workspace") is True and (top := _workspace(folder)) is not None:
                named.append(top)
            elif isinstance(option.get("path"), str) and (target := (folder / option["path"]).resolve()).exists():
                named.append(target)
    return named


def _workspace(folder: Path) -> Path | None:
    for parent in (folder, *folder.parents):
        if "workspace" in _table(_pyproject(parent), "tool", "uv"):
            return parent
    return None


def _pyproject(folder: Path) -> dict[str, JsonValue]:
    try:
        return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _table(value: JsonValue, *names: str) -> dict[str, JsonValue]:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
