"""Reads `deployment.yaml`."""

from pathlib import Path

from bench_assets.catalog.documents import DocumentFault, read_document, validate
from bench_assets.contracts.deployment import Deployment
from bench_assets.errors import InvalidInput


def load_deployment(path: Path) -> Deployment:
    """Return the settings of a file; the defaults when there is none. Raises InvalidInput with file and line."""
    if not path.exists():
        return Deployment()
    try:
        document = read_document(path)
        return validate(Deployment, document.values, document)
    except DocumentFault as fault:
        where = f"{path}:{fault.line}" if fault.line else f"{path}"
        raise InvalidInput(f"{where}: {fault.message}") from fault
