"""A team's deployment on one machine, with real servers: Postgres for Dagster and for results, S3 for files and logs.

`make team` runs it. Everything lies under `.bench/team/`; the servers end with it, their data stays. While it runs,
another shell joins with `. .bench/team/environment`: its `bench-assets` and `dagster` work on the same instance.
"""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine, text

from bench_assets.storage.postgres.connecting import parse_url
from bench_assets.storage.postgres.embedded import EmbeddedPostgres
from tests.services.seaweed import running_seaweed

ROOT = Path(__file__).parents[2]
DATABASES = ("dagster", "bench")
"""Dagster's own and that of the results: both have a table `runs`."""


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """Start Postgres, yield the URL of each database, and stop it unless somebody else uses it."""
    server = EmbeddedPostgres(folder)
    with server.joining() as url:
        engine = create_engine(parse_url(url), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            there = set(connection.execute(text("SELECT datname FROM pg_database")).scalars())
            for name in sorted(set(DATABASES) - there):
                connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
    try:
        yield {name: parse_url(url).set(database=name).render_as_string(hide_password=False) for name in DATABASES}
    finally:
        with server.exclusively():
            if server.leave():
                server.stop()


@contextmanager
def telling_shells(file: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Keep the variables in a file that a shell can read, for its owner only, as long as they hold."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text("".join(lines), encoding="utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def main() -> int:
    """Start the servers and Dagster; return Dagster's exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", default="3000", help="of Dagster's UI")
    port = options.parse_args().port
    folder = ROOT / ".bench" / "team"
    home = folder / "dagster_home"
    for place in (home, folder / "s3"):
        place.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what has started by then is ended
    shutil.copyfile(ROOT / "deploy" / "dagster.yaml", home / "dagster.yaml")
    with databases(folder / "postgres") as urls, running_seaweed(folder / "s3") as s3:
        variables = {
            **s3.environment,
            "DAGSTER_HOME": str(home),
            "DAGSTER_POSTGRES_URL": urls["dagster"],
            "BENCH_POSTGRES_URL": urls["bench"],
            "BENCH_STORAGE": f"s3://{s3.bucket}/results",
            "BENCH_LOGS_BUCKET": s3.bucket,
        }
        program = str(Path(sys.executable).parent / "dagster")
        command = [program, "dev", "-m", "bench_assets.definitions", "-h", "127.0.0.1", "-p", port]
        with telling_shells(folder / "environment", variables):
            dagster = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **variables})
            # Ctrl-C reaches Dagster by itself; another process's SIGTERM reaches only us.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, lambda *_: dagster.send_signal(signal.SIGINT))
            return dagster.wait()


if __name__ == "__main__":
    sys.exit(main())
