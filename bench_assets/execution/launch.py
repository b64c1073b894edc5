"""What a worker is started with: its interpreter, its adapter, and an environment of its own."""

import logging
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench_assets.contracts.base import JsonValue

logger = logging.getLogger(__name__)

ALLOWED = frozenset(
    {
        *("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    }
)
"""Variables that every agent gets from our own environment, besides `LC_*`."""

_NEVER = re.compile(r"BENCH_.*|BENCHER_.*|DAGSTER_.*|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV")

MARK = "BENCH_WORKER"
"""Variable with a different value in each worker: its processes are found by it."""
SCRATCH = "BENCH_WORKER_SCRATCH"
"""Variable with the worker's folder, which its keeper removes when nobody else is left to."""


@dataclass(frozen=True, kw_only=True)
class WorkerLaunch:
    """How the workers of one agent are started."""

    python: Path
    """The interpreter of the agent's environment, in which `bench_worker` is installed."""
    connection: tuple[str, ...]
    """How the adapter is reached: `("--entry-point", NAME)` or `("--import-path", "module:attribute")`."""
    env: Mapping[str, str] = field(repr=False)
    """The whole environment of the process, as `agent_variables` makes it. Nothing else is inherited."""
    kwargs: Mapping[str, JsonValue]
    """Handed to `run` with each question, as far as it takes them."""
    run_id: str
    """The run, told to the agent with each question."""
    log_dir: Path
    """Folder for one log file a worker: its standard error, bounded."""
    log_ipc: bool = False
    """Also log every message to and from workers, to the Python logger `bench_assets.ipc`."""

    def environment(self, *, mark: str, scratch: Path) -> dict[str, str]:
        """Return the variables of one worker: `env`, the interpreter's own folder first on PATH, and two of ours."""
        # absolute, not resolved: in a venv the link's own folder holds the environment's programs
        folder = str(self.python.absolute().parent)
        path = self.env.get("PATH", os.defpath)
        return {**self.env, "PATH": f"{folder}{os.pathsep}{path}", MARK: mark, SCRATCH: str(scratch)}


def agent_variables(
    *,
    allowed: Iterable[str],
    given: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    parent: Mapping[str, str],
) -> dict[str, str]:
    """Return the environment of an agent's processes. Later ones win.

    Args:
        allowed: further names to take from `parent`, besides `ALLOWED` and `LC_*`; one that is not set is left out.
        given: values of the agent's own settings.
        overrides: values of this run.
        parent: our own environment.

    Variables of ours (`BENCH_*`, `BENCHER_*`, `DAGSTER_*`: keys, databases, stores) and those that would bend the
    agent's interpreter (`PYTHONPATH`, `PYTHONHOME`, `VIRTUAL_ENV`) are never handed on, whoever names them; the log
    says so.
    """
    names = {name for name in parent if name in ALLOWED or name.startswith("LC_")} | set(allowed)
    variables = {name: parent[name] for name in sorted(names) if name in parent}
    variables |= {**(given or {}), **(overrides or {})}
    for name in sorted({*names, *variables}):
        if _NEVER.fullmatch(name):
            variables.pop(name, None)
            logger.warning(
                "The variable `%s` is not handed to the agent: it belongs to bench-assets or to Python itself.", name
            )
    return variables
