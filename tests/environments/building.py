"""`python -m tests.environments.building ROOT SOURCE WORKER TIMEOUT` builds, for tests that kill it."""

import json
import sys
from pathlib import Path

from bench_assets.environments.cache import EnvironmentCache, EnvironmentRequest
from bench_assets.environments.source import parse_source

if __name__ == "__main__":
    root, source, worker, timeout = sys.argv[1:]
    with EnvironmentCache(Path(root), build_timeout_sec=float(timeout)) as cache:
        built = cache.ensure(
            EnvironmentRequest(
                candidate="kg@v1",
                source=parse_source(source, base=Path("/")),
                worker=parse_source(worker, base=Path("/")),
                import_path="kg:SAYS",
            )
        )
    sys.stdout.write(json.dumps({"python": str(built.python), "reused": built.reused}))
