"""Parts of a Dagster instance: those that a deployment's `dagster.yaml` names, and those that our commands put in."""
