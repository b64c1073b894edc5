"""How many programs a build starts. Counts only: the times are `make bench ITEM=environments`'s."""

import os
import stat
from pathlib import Path

import pytest
from uv import find_uv_bin

from bench_assets.environments import build, lock_text
from bench_assets.environments.cache import EnvironmentCache, EnvironmentRequest
from bench_assets.environments.source import parse_source
from tests.environments.projects import make_project

COUNTING = """\
#!/bin/sh
echo "$1 $2" >> "{log}"
exec "{uv}" "$@"
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """What uv is called for, in order."""
    log, script = tmp_path / "calls", tmp_path / "uv"
    script.write_text(COUNTING.format(log=log, uv=find_uv_bin()), encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    for module in (build, lock_text):
        monkeypatch.setattr(module, "find_uv_bin", lambda: str(script))
    return lambda: log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_a_cold_build_calls_uv_three_times_and_finding_it_again_not_at_all(tmp_path, calls):
    settings = tmp_path / "uv.toml"
    settings.write_text("no-index = true\n", encoding="utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "uv-cache"),
        "UV_CONFIG_FILE": str(settings),
    }
    worker = make_project(tmp_path / "worker", name="bench-worker", says="worker")
    agent = make_project(tmp_path / "agent", name="kg", says="agent")
    wanted = EnvironmentRequest(
        candidate="kg@local",
        source=parse_source(str(agent), base=Path("/")),
        worker=parse_source(str(worker), base=Path("/")),
        import_path="kg:SAYS",
    )
    with EnvironmentCache(tmp_path / "cache", environ=environ) as cache:
        assert not cache.ensure(wanted).reused
        assert calls() == ["venv --quiet", "pip install", "pip freeze"]
        assert cache.ensure(wanted).reused
        assert len(calls()) == 3
