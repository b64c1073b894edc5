"""Runs an agent's adapter in the agent's own environment. See `bench_worker.__main__` for the protocol."""

__version__ = "0.1.0"
