"""Dagster's way to our stored records: a thin layer over `bench_assets.storage`."""
