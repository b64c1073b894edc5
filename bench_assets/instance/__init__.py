"""Parts of a Dagster instance that `dagster.yaml` of a deployment names."""
