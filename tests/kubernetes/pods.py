"""What a kubelet does, for tests: runs a pod's container as a process of this machine, with mounts by bubblewrap.

The image is ignored: the programs are those of the tests' own environment. Everything else is the pod's: variables from
Secrets and ConfigMaps, its mounts, its home, SIGTERM and SIGKILL when it is deleted.
"""

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Protocol

Object = dict[str, Any]
NOT_OF_THE_HOST = ("home",)
"""Top folders that a container has for itself."""


class Objects(Protocol):
    """What a pod reads of its cluster."""

    def data(self, kind: str, name: str) -> dict[str, bytes]:
        """Return the items of a Secret (`secrets`) or a ConfigMap (`configmaps`)."""


class RunningPod:
    """One pod with one container, from its start to its end."""

    def __init__(self, pod: Object, *, folder: Path, objects: Objects) -> None:
        """Start its process."""
        if shutil.which("bwrap") is None:
            raise RuntimeError("The tests of pods need bubblewrap: install it, or set BENCH_TESTS_WITHOUT=kubernetes.")
        (container,) = pod["spec"]["containers"]
        self._pod = pod
        self._folder = folder
        self._objects = objects
        self.log = folder / "log"
        folder.mkdir(parents=True)
        self.variables = self._variables(container)
        command = [*container.get("command", []), *container.get("args", [])]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["bwrap", *self._root(container), "--", *command],
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def delete(self, *, grace_sec: float) -> None:
        """End it as a deleted pod ends: SIGTERM, and SIGKILL to what is left after the grace period."""
        for number in _descendants(self.process.pid):
            _kill(number, signal.SIGTERM)
        try:
            self.process.wait(timeout=grace_sec)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=10)

    def when_ended(self, call: Any) -> None:
        """Call `call(exit code)` once the process has ended."""
        threading.Thread(target=lambda: call(self.process.wait()), daemon=True).start()

    def _variables(self, container: Object) -> dict[str, str]:
        name = self._pod["metadata"]["name"]
        # The tests' own programs stand for the image, and so does the place from which they import.
        found = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
        found |= {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": "/home/bench", "HOSTNAME": name}
        for source in container.get("envFrom", []):
            kind, reference = ("secrets", "secretRef") if "secretRef" in source else ("configmaps", "configMapRef")
            items = self._objects.data(kind, source[reference]["name"])
            found |= {key: value.decode() for key, value in items.items()}
        for item in container.get("env", []):
            reference = item.get("valueFrom", {}).get("secretKeyRef")
            value = self._objects.data("secrets", reference["name"])[reference["key"]].decode() if reference else None
            found[item["name"]] = value if value is not None else item.get("value", "")
        return found

    def _root(self, container: Object) -> list[str]:
        """Return bubblewrap's arguments for a root folder that has this machine's programs and the pod's mounts."""
        arguments = ["--tmpfs", "/"]
        for entry in sorted(Path("/").iterdir()):
            if entry.name in NOT_OF_THE_HOST:
                continue
            if entry.is_symlink():
                arguments += ["--symlink", str(entry.readlink()), str(entry)]
            else:
                arguments += ["--dev-bind", str(entry), str(entry)]
        arguments += ["--dir", "/home/bench"]
        for mount in container.get("volumeMounts", []):
            volume = self._volume(mount["name"])
            source = volume / mount["subPath"] if mount.get("subPath") else volume
            arguments += ["--ro-bind" if mount.get("readOnly") else "--bind", str(source), mount["mountPath"]]
        return [*arguments, "--chdir", container.get("workingDir", "/")]

    def _volume(self, name: str) -> Path:
        volume = next(item for item in self._pod["spec"]["volumes"] if item["name"] == name)
        if "persistentVolumeClaim" in volume:  # beside the pods: it outlives them
            folder = self._folder.parent / f"claim-{volume['persistentVolumeClaim']['claimName']}"
            folder.mkdir(exist_ok=True)
            return folder
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        secret, settings = volume.get("secret"), volume.get("configMap")
        kind, source = ("secrets", secret["secretName"]) if secret else ("configmaps", settings["name"])
        content = self._objects.data(kind, source)
        items = (secret or settings).get("items") or [{"key": key, "path": key} for key in content]
        for item in items:
            (folder / item["path"]).write_bytes(content[item["key"]])
        return folder


def decoded(secret: Object) -> dict[str, bytes]:
    """Return the items of a Secret as its user sees them."""
    plain = {key: value.encode() for key, value in secret.get("stringData", {}).items()}
    return {key: base64.b64decode(value) for key, value in secret.get("data", {}).items()} | plain


def _descendants(pid: int) -> list[int]:
    # bubblewrap passes no signals on, so its child, the container's first process, gets them from us.
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [int(child) for child in children] if children else [pid]


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
