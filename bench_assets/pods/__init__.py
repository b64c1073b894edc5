"""What a run looks like on Kubernetes. No Dagster, no client of Kubernetes."""
