"""From scores to figures. Pure: no I/O, no Dagster."""
