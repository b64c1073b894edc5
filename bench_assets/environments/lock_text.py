"""The text of `environment.lock`: what is installed in an environment, one requirement a line."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name
from uv import find_uv_bin

from bench_assets.environments.child_process import run_child
from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor, redact_url

LOCAL_LINE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+) @ (?P<url>file://\S+)$")
"""A package that was installed from this machine's disk."""

FREEZE_TIMEOUT_SEC = 120.0
FREEZE_LIMIT = "the time for listing an environment"


def freeze(python: Path, *, variables: Mapping[str, str]) -> str:
    """Return `uv pip freeze` of an environment, without credentials. Raises EnvironmentFailed if uv cannot read it."""
    result = run_child(
        [find_uv_bin(), "pip", "freeze", f"--python={python}", "--color=never"],
        variables=variables,
        timeout_sec=FREEZE_TIMEOUT_SEC,
        limit=FREEZE_LIMIT,
        redact=Redactor(),
    )
    if result.returncode != 0:
        raise EnvironmentFailed(f"The packages of `{python}` cannot be listed. uv said:\n{result.tail}")
    return redact_url(result.stdout)


def locked_version(lock: str, *, name: str) -> str | None:
    """Return the version of a package in a lock; None when it is not there or was installed from a URL or a path."""
    for line in lock.splitlines():
        found, equal, version = line.partition("==")
        if equal and canonicalize_name(found.strip()) == canonicalize_name(name):
            return version.strip()
    return None


def local_places(lock: str) -> dict[str, Path]:
    """Return where each package of a lock lay that was installed from a disk, by its canonical name."""
    found = (LOCAL_LINE.match(line) for line in lock.splitlines())
    return {canonicalize_name(one["name"]): Path(unquote(urlsplit(one["url"]).path)) for one in found if one}


def lock_difference(expected: str, found: str) -> str | None:
    """Return what distinguishes two locks, as a sentence; None when they hold the same.

    Local paths are compared by name only: their content is compared by digest, and their place may differ.
    """

    def keyed(lock: str) -> set[str]:
        return {
            f"{canonicalize_name(local['name'])} @ local" if (local := LOCAL_LINE.match(line)) else line
            for line in lock.splitlines()
            if line.strip()
        }

    missing, added = sorted(keyed(expected) - keyed(found)), sorted(keyed(found) - keyed(expected))
    if not missing and not added:
        return None
    parts = [
        f"{what} {', '.join(f'`{line}`' for line in lines[:3])}{' and more' if len(lines) > 3 else ''}"
        for what, lines in (("without", missing), ("with", added))
        if lines
    ]
    return f"it is {' and '.join(parts)}"
