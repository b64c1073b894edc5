"""Small Python projects, wheels and git repositories, made on the fly and built without a network."""

import subprocess
import zipfile
from pathlib import Path

BUILD_SYSTEM = '[build-system]\nrequires = ["uv_build>=0.9,<0.15"]\nbuild-backend = "uv_build"\n'


def make_project(folder: Path, *, name: str = "kg", says: str = "v1", dependencies=(), more: str = "") -> Path:
    """Write a project whose module `name` holds `SAYS`."""
    package = folder / "src" / name.replace("-", "_")
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(f'SAYS = "{says}"\n', encoding="utf-8")
    quoted = ", ".join(f'"{dependency}"' for dependency in dependencies)
    table = f'[project]\nname = "{name}"\nversion = "1.0"\nrequires-python = ">=3.9"\ndependencies = [{quoted}]\n'
    (folder / "pyproject.toml").write_text(f"{BUILD_SYSTEM}{table}{more}", encoding="utf-8")
    return folder


def make_wheel(folder: Path, *, name: str, version: str, dependencies=()) -> Path:
    """Write a wheel whose module `name` holds `SAYS = version`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    needs = "".join(f"Requires-Dist: {dependency}\n" for dependency in dependencies)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f'SAYS = "{version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(file, text)
    return path


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, without the settings of the machine."""
    return subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    ).stdout.strip()


def commit(repository: Path, *, message: str = "change") -> str:
    """Commit everything, making the repository first where there is none. Return the commit's id."""
    if not (repository / ".git").exists():
        git(repository, "init", "--quiet", "--initial-branch=main")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(repository, "rev-parse", "HEAD")


def said_by(python: Path, module: str = "kg") -> str:
    """Return what a project that is installed in an environment says."""
    return subprocess.run(
        [str(python), "-I", "-c", f"import {module}; print({module}.SAYS)"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.strip()
