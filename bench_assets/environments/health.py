"""Is a cached environment still what was built?

A full check starts the interpreter and lists the packages, which takes too long for every look-up. So a build leaves a
stamp, and a look-up compares it with what is there, by a few `stat` calls. Suspicious, and worth the full check, is:

- the Python that the environment was made from is another file (upgraded, or another image with the same path);
- the set of installed distributions or one of their `RECORD` files changed (someone ran an installer in it).

A file edited by hand inside an installed package is not noticed.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from bench_assets.contracts.base import Record
from bench_assets.environments.child_process import run_child
from bench_assets.environments.lock_text import freeze, lock_difference
from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor

CHECK_TIMEOUT_SEC = 60.0
CHECK_LIMIT = "the time for checking an environment"

_CHECK = "import sys, bench_worker; print(sys.version.split()[0])"


class Stamp(Record):
    """What a build left, as far as `stat` can tell."""

    base: str
    """The file that runs, behind all links, with its size and time of change."""
    packages: str
    """SHA-256 over the names of the installed distributions and their `RECORD` files' sizes and times."""


def take_stamp(python: Path) -> Stamp | None:
    """Return the stamp of an environment; None when its interpreter is not there."""
    try:
        base = python.resolve(strict=True)
        status = base.stat()
    except OSError:
        return None
    found = hashlib.sha256()
    for site in sorted((python.parent.parent / "lib").glob("python*/site-packages")):
        with os.scandir(site) as scan:
            names = sorted(item.name for item in scan if item.name.endswith(".dist-info"))
        for name in names:
            try:
                record = (site / name / "RECORD").stat()
            except OSError:
                found.update(f"{name}\n".encode())
            else:
                found.update(f"{name} {record.st_size} {record.st_mtime_ns}\n".encode())
    return Stamp(base=f"{base} {status.st_size} {status.st_mtime_ns}", packages=found.hexdigest())


def why_not_running(python: Path, *, version: str, variables: Mapping[str, str]) -> str | None:
    """Start an environment's interpreter and import the worker. Return why that fails; None when it works."""
    try:
        result = run_child(
            [str(python), "-I", "-c", _CHECK],
            variables=variables,
            timeout_sec=CHECK_TIMEOUT_SEC,
            limit=CHECK_LIMIT,
            redact=Redactor(),
        )
    except EnvironmentFailed as error:
        return f"its Python does not run: {error}"
    if result.returncode != 0:
        return f"the worker package `bench_worker` cannot be imported in it:\n{result.tail}"
    found = result.stdout.splitlines()[-1]
    return None if found == version else f"its Python is {found}, not {version}."


def why_not_as_built(python: Path, *, version: str, lock: str, variables: Mapping[str, str]) -> str | None:
    """Do the full check. Return why the environment is not the one that was built; None when it is."""
    reason = why_not_running(python, version=version, variables=variables)
    if reason is not None:
        return reason
    try:
        difference = lock_difference(lock, freeze(python, variables=variables))
    except EnvironmentFailed as error:
        return str(error)
    return None if difference is None else f"it is no longer what was built: {difference}."
