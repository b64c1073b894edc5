"""Small Python projects, wheels and git repositories, made on the fly and built without a network."""

import subprocess
import time
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


def make_wheel(folder: Path, *, name: str, version: str, says: str | None = None) -> Path:
    """Write a wheel whose module `name` holds `SAYS`: its version, unless told otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f'SAYS = "{says or version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
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


BACKEND = """
import time
import zipfile
from pathlib import Path

GATE = Path({gate!r})


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    (Path.cwd() / "build").mkdir(exist_ok=True)
    with (GATE / "builds").open("a") as log:
        log.write("build\\n")
    end = time.monotonic() + 240  # whoever waits for this build may have been killed
    while not (GATE / "open").exists() and time.monotonic() < end:
        time.sleep(0.02)
    name = "kg-1.0-py3-none-any.whl"
    info = "kg-1.0.dist-info"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as archive:
        archive.writestr("kg.py", "SAYS = 'slow'\\n")
        archive.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: kg\\nVersion: 1.0\\n")
        archive.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "/RECORD", "")
    return name
"""


class GatedProject:
    """A project whose build notes that it began, litters its folder as setuptools does, and waits for a gate."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gated"
        self._gate = folder / "gate"
        self.path.mkdir(parents=True)
        self._gate.mkdir()
        (self.path / "backend.py").write_text(BACKEND.format(gate=str(self._gate)), encoding="utf-8")
        (self.path / "pyproject.toml").write_text(
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
            '[project]\nname = "kg"\nversion = "1.0"\n',
            encoding="utf-8",
        )

    def open(self) -> None:
        """Let builds end from now on."""
        (self._gate / "open").touch()

    @property
    def builds(self) -> int:
        """How many builds began."""
        log = self._gate / "builds"
        return len(log.read_text().splitlines()) if log.exists() else 0


def wait_until(condition, *, seconds: float = 30.0) -> None:
    """Wait for something another process does. Fails when it does not happen in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not happen within {seconds} s"
        time.sleep(0.02)
