"""Telling a channel of the team's what came of a run. No Dagster."""
