"""Dagster definitions and nothing else: one module an asset."""
