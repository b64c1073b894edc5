"""`python -m bench_assets` is `bench-assets`."""

from bench_assets.cli import main

if __name__ == "__main__":
    main()
