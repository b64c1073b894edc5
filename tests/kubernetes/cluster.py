"""A small Kubernetes API on 127.0.0.1: Jobs, their pods, Secrets, ConfigMaps; it refuses what a real one refuses."""

import json
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.kubernetes.pods import Object, RunningPod, decoded
from tests.kubernetes.schema import faults

PLACE = re.compile(
    r"^/(?:api|apis/batch)/v1/namespaces/(?P<namespace>[^/]+)/(?P<kind>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>\w+))?$"
)
CHECKED = {"jobs": "Job", "secrets": "Secret", "configmaps": "ConfigMap"}


class Refused(Exception):
    """Raised for what a server answers with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Cluster:
    """The objects of one namespace, and the processes of its pods."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = secrets.token_hex(8)
        self.objects: dict[str, dict[str, Object]] = {}
        """Kind (`jobs`) → name → object."""
        self.running: dict[str, RunningPod] = {}
        """By the pod's name; stays when the pod is deleted."""
        self.calls: list[str] = []
        self._lock = threading.RLock()

    def create(self, kind: str, given: Object) -> Object:
        """Store an object; a Job gets its pod. Raises Refused for what does not fit the schema."""
        if kind in CHECKED and (found := faults({"kind": CHECKED[kind], **given})):
            raise Refused(422, "; ".join(found))
        with self._lock:
            name = given["metadata"]["name"]
            if name in self.objects.setdefault(kind, {}):
                raise Refused(409, f"{kind} `{name}` exists")
            made = {
                **given,
                "metadata": {**given["metadata"], "uid": secrets.token_hex(8), "creationTimestamp": _now()},
            }
            self.objects[kind][name] = made
            if kind == "jobs":
                made["status"] = {"active": 1, "startTime": _now()}
                self._start_pod(made)
            return made

    def get(self, kind: str, name: str) -> Object:
        """Return an object. Raises Refused when there is none."""
        with self._lock:
            try:
                return self.objects.get(kind, {})[name]
            except KeyError:
                raise Refused(404, f"there is no {kind} `{name}`") from None

    def select(self, kind: str, query: dict[str, str]) -> list[Object]:
        """Return the objects that labels and fields choose."""
        with self._lock:
            return [item for item in self.objects.get(kind, {}).values() if _fits(item, query)]

    def delete(self, kind: str, name: str) -> Object:
        """Remove an object; a pod's process ends first, as the kubelet sees to."""
        found = self.get(kind, name)
        if kind == "pods":
            self.running[name].delete(grace_sec=found["spec"].get("terminationGracePeriodSeconds", 30))
        with self._lock:
            self.objects[kind].pop(name, None)
        return found

    def data(self, kind: str, name: str) -> dict[str, bytes]:
        """Return the items of a Secret or a ConfigMap."""
        found = self.get(kind, name)
        return decoded(found) if kind == "secrets" else {key: text.encode() for key, text in found["data"].items()}

    def pods_of(self, job: str) -> list[Object]:
        """Return a job's pods, oldest first."""
        return self.select("pods", {"labelSelector": f"job-name={job}"})

    def _start_pod(self, job: Object) -> None:
        template, name = job["spec"]["template"], f"{job['metadata']['name']}-{secrets.token_hex(2)}"
        labels = {**template.get("metadata", {}).get("labels", {}), "job-name": job["metadata"]["name"]}
        pod = self.create("pods", {"metadata": {"name": name, "labels": labels}, "spec": template["spec"]})
        pod["status"] = {"phase": "Running", "startTime": _now()}
        running = self.running[name] = RunningPod(pod, folder=self.folder / name, objects=self)
        running.when_ended(lambda code: self._ended(job, pod, code))

    def _ended(self, job: Object, pod: Object, code: int) -> None:
        with self._lock:
            pod["status"]["phase"] = "Failed" if code else "Succeeded"
            ended = {"succeeded": 1} if code == 0 else {"failed": 1}
            job["status"] = {"startTime": job["status"]["startTime"], **ended}


@contextmanager
def running_cluster(folder: Path) -> Iterator[tuple[Cluster, Path]]:
    """Serve an empty cluster; yields it, and the `kubeconfig` to reach it. Ends its pods at the end."""
    cluster = Cluster(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cluster))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    config = folder / "kubeconfig"
    config.write_text(json.dumps(_kubeconfig(server.server_port, cluster.token)), encoding="utf-8")
    try:
        yield cluster, config
    finally:
        for pod in cluster.running.values():
            if pod.process.poll() is None:
                pod.delete(grace_sec=2)
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            cluster.calls.append(f"{self.command} {self.path}")
            try:
                if self.headers.get("Authorization") != f"Bearer {cluster.token}":
                    raise Refused(401, "Unauthorized")
                reply, code = self.handled(json.loads(body) if body else {}), 200
            except Refused as refused:
                code = refused.code
                reply = {"kind": "Status", "status": "Failure", "code": code, "message": str(refused)}
            text = reply if isinstance(reply, str) else json.dumps(reply)
            self.send_response(code)
            self.send_header("Content-Type", "text/plain" if isinstance(reply, str) else "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def handled(self, body: Object) -> Any:
            parts = urlsplit(self.path)
            if parts.path.rstrip("/") == "/version":
                return {"major": "1", "minor": "36", "gitVersion": "v1.36.0"}
            place = PLACE.match(parts.path)
            if place is None:
                raise Refused(404, f"{parts.path} is not served")
            kind, name = place["kind"], place["name"]
            if self.command == "POST":
                return cluster.create(kind, body)
            if self.command == "DELETE":
                return cluster.delete(kind, name)
            if name and place["part"] == "log":
                return cluster.running[name].log.read_text(encoding="utf-8", errors="replace")
            if name:
                return cluster.get(kind, name)
            return {"items": cluster.select(kind, dict(parse_qsl(parts.query))), "metadata": {}}

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 the names that http.server calls

    return Handler


def _fits(item: Object, query: dict[str, str]) -> bool:
    for text, read in ((query.get("labelSelector", ""), _label), (query.get("fieldSelector", ""), _field)):
        for part in filter(None, text.split(",")):
            key, _, value = part.replace("==", "=").partition("=")
            if read(item, key) != value:
                return False
    return True


def _label(item: Object, key: str) -> str | None:
    return item["metadata"].get("labels", {}).get(key)


def _field(item: Object, path: str) -> Any:
    for key in path.split("."):
        item = item.get(key, {})
    return item


def _kubeconfig(port: int, token: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "default"}}],
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
