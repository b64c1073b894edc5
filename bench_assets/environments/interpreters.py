"""Finding the Python that an environment is made with."""

import json
import os
import platform
import re
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

from bench_assets.environments.child_process import run_child
from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor

PROBE_TIMEOUT_SEC = 60.0
PROBE_LIMIT = "the time for asking a Python"

_VERSION = re.compile(r"\d+(?:\.\d+){0,2}")
_PROBE = (
    "import json, platform, sys, sysconfig;"
    "print(json.dumps([sys.implementation.name, platform.python_version(),"
    " sysconfig.get_config_var('SOABI') or '', sys.platform + '-' + platform.machine()]))"
)


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """One Python on this machine."""

    path: Path
    implementation: str
    """For instance `cpython`."""
    version: str
    """Full, for instance `3.11.7`."""
    abi: str
    """What compiled modules must fit (`SOABI`), with the C library; empty where Python does not say."""
    platform: str
    """For instance `linux-x86_64`."""


def this_interpreter() -> Interpreter:
    """Return the Python that runs bench-assets."""
    return Interpreter(
        path=Path(sys.executable),
        implementation=sys.implementation.name,
        version=platform.python_version(),
        abi=sysconfig.get_config_var("SOABI") or "",
        platform=f"{sys.platform}-{platform.machine()}",
    )


def find_interpreter(wanted: str | None, *, variables: Mapping[str, str]) -> Interpreter:
    """Return the Python that was asked for.

    The one that runs bench-assets is taken whenever it fits. Otherwise uv looks where it usually does, and after it
    this function looks among pyenv's versions, which uv passes by unless pyenv has them switched on. Nothing is
    downloaded unless `UV_PYTHON_DOWNLOADS` allows it. Raises EnvironmentFailed, with those that were found.
    """
    here = this_interpreter()
    if wanted is None or (_VERSION.fullmatch(wanted) and f"{here.version}.".startswith(f"{wanted}.")):
        return here
    found = run_child(
        [find_uv_bin(), "python", "find", "--system", "--no-project", "--color=never", "--", wanted],
        variables=variables,
        timeout_sec=PROBE_TIMEOUT_SEC,
        limit=PROBE_LIMIT,
        redact=Redactor(),
    )
    path = Path(found.stdout.strip()) if found.returncode == 0 else _pyenv_version(wanted, variables=variables)
    if path is None:
        raise EnvironmentFailed(
            f"Python `{wanted}` was asked for, but this machine has none. {_installed(variables)} Install it, or set "
            "`UV_PYTHON_DOWNLOADS=automatic` so that uv may download it."
        )
    return _probe(path, wanted=wanted, variables=variables)


def _probe(path: Path, *, wanted: str, variables: Mapping[str, str]) -> Interpreter:
    result = run_child(
        [str(path), "-I", "-S", "-c", _PROBE],
        variables=variables,
        timeout_sec=PROBE_TIMEOUT_SEC,
        limit=PROBE_LIMIT,
        redact=Redactor(),
    )
    if result.returncode != 0:
        raise EnvironmentFailed(f"Python `{wanted}` was found as `{path}`, but it does not run:\n{result.tail}")
    implementation, version, abi, system = json.loads(result.stdout)
    return Interpreter(path=path, implementation=implementation, version=version, abi=abi, platform=system)


def _pyenv_version(wanted: str, *, variables: Mapping[str, str]) -> Path | None:
    if not _VERSION.fullmatch(wanted):
        return None
    names = [name for name in _pyenv_names(variables) if f"{name}.".startswith(f"{wanted}.")]
    return _pyenv_folder(variables) / max(names, key=_numbers) / "bin" / "python" if names else None


def _pyenv_folder(variables: Mapping[str, str]) -> Path:
    return Path(variables.get("PYENV_ROOT") or Path(variables.get("HOME") or os.curdir) / ".pyenv") / "versions"


def _pyenv_names(variables: Mapping[str, str]) -> list[str]:
    folders = _pyenv_folder(variables).glob("*/bin/python")
    return [name for name in (path.parent.parent.name for path in folders) if _VERSION.fullmatch(name)]


def _installed(variables: Mapping[str, str]) -> str:
    listed = run_child(
        [find_uv_bin(), "python", "list", "--only-installed", "--output-format=json", "--color=never"],
        variables=variables,
        timeout_sec=PROBE_TIMEOUT_SEC,
        limit=PROBE_LIMIT,
        redact=Redactor(),
    )
    versions = {entry["version"] for entry in json.loads(listed.stdout or "[]")} | set(_pyenv_names(variables))
    known = sorted((version for version in versions if _VERSION.fullmatch(version)), key=_numbers, reverse=True)
    return f"Found were {', '.join(f'`{version}`' for version in known[:8])}." if known else "None were found."


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
