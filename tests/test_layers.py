"""The architecture, read from the import statements."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bench_assets"
ABOVE = {
    "errors": set(),
    "contracts": {"errors"},
    "redaction": {"errors", "contracts"},
    "catalog": {"errors", "contracts"},
    "environments": {"errors", "contracts", "redaction"},
    "execution": {"errors", "contracts", "redaction"},
    "judging": {"errors", "contracts", "redaction"},
    "analysis": {"errors", "contracts"},
    "storage": {"errors", "contracts", "redaction"},
    "planning": {"errors", "contracts", "redaction", "catalog"},
    "notifying": {"errors", "contracts", "redaction"},
    "pods": {"errors", "contracts", "redaction"},
    "watching": {"errors", "contracts", "environments", "analysis"},
}
for _allowed in ABOVE.values():
    _allowed |= {"closing", "text_numbers"}
ABOVE |= {"closing": set(), "text_numbers": set()}
PLAIN = set(ABOVE)
ABOVE["stages"] = PLAIN
ABOVE["resources"] = PLAIN | {"stages"}
ABOVE["io_managers"] = PLAIN | {"stages", "resources"}
ABOVE["defs"] = PLAIN | {"stages", "io_managers", "resources"}
ABOVE["instance"] = PLAIN
ABOVE["definitions"] = PLAIN | {"stages", "io_managers", "resources", "defs"}
ABOVE["cli"] = set(ABOVE)
ABOVE["__main__"] = {"cli"}
"""What each part may import from the others, besides itself and the package's version."""

DAGSTER = {"io_managers", "instance", "resources", "defs", "definitions", "cli"}


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found.add(node.module or "")
    return found


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(PACKAGE), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path):
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("bench_assets.")}
    assert ours <= ABOVE[part(path)] | {part(path)}
    if part(path) not in DAGSTER:
        assert not {name for name in imports(path) if name.split(".")[0].startswith("dagster")}


@pytest.mark.parametrize("path", sorted((ROOT / "worker").rglob("*.py")), ids=lambda path: path.name)
def test_the_worker_imports_nothing_of_ours(path):
    assert not {name for name in imports(path) if name.split(".")[0] == "bench_assets"}


def test_the_entry_point_only_wires():
    assert len((PACKAGE / "definitions.py").read_text(encoding="utf-8").splitlines()) < 60
