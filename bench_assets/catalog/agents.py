"""Reads `agents.yaml`."""

import re
from pathlib import Path

from bench_assets.catalog.documents import DocumentFault, read_document, validate
from bench_assets.contracts.agent import AGENT_NAME, AgentSpec
from bench_assets.errors import InvalidAgent


def load_agents(path: Path) -> dict[str, AgentSpec]:
    """Return the agents of a file, by name; none when there is no file. Raises InvalidAgent with file and line."""
    if not path.exists():
        return {}
    try:
        document = read_document(path)
        entries = document.values.get("agents")
        unknown = [key for key in document.values if key != "agents"]
        if unknown or not isinstance(entries, dict):
            raise DocumentFault("must hold one key, `agents`, with a mapping of names to agents", line=1)
        for name in entries:
            if not isinstance(name, str) or not re.fullmatch(AGENT_NAME, name):
                raise DocumentFault(
                    f"`{name}` is no name for an agent; use letters, digits and `._-` (in quotes, if it is a number)",
                    line=document.lines.get(("agents", str(name))),
                )
        return {name: validate(AgentSpec, entry, document, "agents", name) for name, entry in entries.items()}
    except DocumentFault as fault:
        where = f"{path}:{fault.line}" if fault.line else f"{path}"
        raise InvalidAgent(f"{where}: {fault.message}") from fault
