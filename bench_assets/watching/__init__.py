"""Finding new versions of agents in their git repositories. No Dagster."""
