"""Where the cache lies, and where the worker's own source lies."""

from collections.abc import Mapping
from pathlib import Path

import bench_assets
from bench_assets.environments.source import parse_source
from bench_assets.environments.source_records import Source
from bench_assets.errors import EnvironmentFailed


def default_cache_root(environ: Mapping[str, str]) -> Path:
    """Return the folder for environments.

    `BENCH_CACHE_DIR` if it is set (`BENCHER_CACHE_DIR` works too), else `bench-assets` in `XDG_CACHE_HOME`, else in
    `~/.cache`; `environments` below it. Nothing is created.
    """
    given = environ.get("BENCH_CACHE_DIR") or environ.get("BENCHER_CACHE_DIR")
    if given:
        return Path(given).expanduser().absolute() / "environments"
    xdg = Path(environ.get("XDG_CACHE_HOME") or "")
    # The XDG convention: a relative path there is to be ignored.
    return (xdg if xdg.is_absolute() else Path("~/.cache").expanduser()) / "bench-assets" / "environments"


def default_worker_source() -> Source:
    """Return the worker that belongs to this bench-assets: the one inside the package, or the repository's.

    Raises EnvironmentFailed when there is neither, which means a damaged installation.
    """
    package = Path(bench_assets.__file__).resolve().parent
    for folder in (package / "_worker", package.parent / "worker"):
        if (folder / "pyproject.toml").is_file():
            return parse_source(str(folder), base=folder)
    raise EnvironmentFailed(
        f"The worker's source is missing: neither `{package / '_worker'}` nor `{package.parent / 'worker'}` is there. "
        "Install bench-assets again, or name a worker with `--worker-source`."
    )
