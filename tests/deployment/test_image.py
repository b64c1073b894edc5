"""`deploy/Dockerfile`, walked without containers: what it copies is what an installation and a project need."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from uv import find_uv_bin

from tests.readme.checkout import ROOT

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
IGNORED = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
BUILD, FINAL = (stage.splitlines() for stage in re.split(r"^FROM .*$", DOCKERFILE, flags=re.MULTILINE)[1:])
NOT_OF_THE_CONTEXT = {"--from"}


def copied(stage, *, into):
    """Do the COPY instructions of a stage in a folder that stands for the image's root."""
    for line in stage:
        instruction, *words = shlex.split(line, comments=True) or [""]
        options = [word for word in words if word.startswith("--")]
        if instruction != "COPY" or {option.partition("=")[0] for option in options} & NOT_OF_THE_CONTEXT:
            continue
        *sources, target = [word for word in words if word not in options]
        for source in sources:
            assert allowed(source), f"`{source}` is copied, but Dockerfile.dockerignore keeps it from the build"
            place = into / target.lstrip("/")
            place = place / Path(source).name if target.endswith("/") else place
            if (ROOT / source).is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(ROOT / source, place, ignore=ignore, dirs_exist_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)


def allowed(source):
    """Return whether the ignore file lets a path through: everything is kept out but what it names."""
    parts = [str(part) for part in (PurePosixPath(source), *PurePosixPath(source).parents)]
    return IGNORED[0] == "*" and any(f"!{part}" in IGNORED for part in parts)


def variables(root):
    """Return the image's variables as the stage sets them, with paths below `root`."""
    (line,) = [line for line in FINAL if line.startswith("ENV ")]
    found = dict(word.split("=", 1) for word in shlex.split(line)[1:])
    places = {name: f"{root}{value}" for name, value in found.items() if value.startswith("/") and name != "PATH"}
    return {**found, **places, "PATH": f"{sys.prefix}/bin:/usr/bin:/bin"}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A folder with what the image has: an installation in `site`, the project under `/opt/bench`."""
    root = tmp_path_factory.mktemp("image")
    copied(BUILD, into=root)
    copied(FINAL, into=root)
    command = [find_uv_bin(), "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation"]
    (line,) = [line for line in BUILD if "--no-build-isolation" in line]
    assert line.split()[-1] == "/build"
    subprocess.run(
        [*command, f"--python={sys.executable}", f"--target={root / 'site'}", str(root / "build")],
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return root


def run(image, *command):
    environ = variables(image) | {"PYTHONPATH": str(image / "site"), "BENCH_CACHE_DIR": str(image / "cache")}
    for name in ("HOME", "DAGSTER_HOME"):
        Path(environ[name]).mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=environ["BENCH_PROJECT"], env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_installation_has_every_file_of_the_package_and_the_worker(image):
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "bench_assets", "worker"],
        check=True, capture_output=True, text=True, timeout=60,
    ).stdout.split("\0")  # fmt: skip
    wanted = [name.replace("worker/", "bench_assets/_worker/", 1) if name.startswith("worker/") else name
              for name in filter(None, listed) if (ROOT / name).is_file()]  # fmt: skip
    assert [name for name in wanted if not (image / "site" / name).is_file()] == []


def test_the_programs_run_in_the_projects_folder_and_the_definitions_load(image):
    helped = run(image, "bench_assets", "--help")
    assert helped.returncode == 0, helped.stderr
    listed = run(image, "bench_assets", "benchmarks")
    assert "word_arithmetic@1.0" in listed.stdout, listed.stderr
    loaded = run(image, "dagster", "definitions", "validate", "-m", "bench_assets.definitions")
    assert loaded.returncode == 0, loaded.stderr + loaded.stdout


def test_the_image_has_what_is_needed_at_run_time_and_runs_as_nobody_special():
    text = "\n".join(FINAL)
    (installed,) = re.findall(r"apt-get install -y --no-install-recommends ([\w .-]+?) +&&", text)
    assert set(installed.split()) == {"git", "ca-certificates", "tini"}
    assert re.search(r"^uv==", (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert "USER 1000:1000" in FINAL
    assert "useradd --uid 1000" in text
    for name in ("/cache", "/opt/dagster/dagster_home", "/opt/bench"):
        assert re.search(rf"install -d -o bench -g bench [^&]*{name}\b", text), name


def test_another_base_can_be_given():
    assert re.search(r"^ARG BASE=\S+$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}", "${BASE}"]
