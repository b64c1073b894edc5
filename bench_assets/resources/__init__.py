"""Dagster resources over the plain code, and our errors as Dagster failures."""
