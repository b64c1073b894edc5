"""The command `bench-assets`. Each command's module is imported when it is called: `--help` costs next to nothing."""

from bench_assets.cli.main import main

__all__ = ["main"]
