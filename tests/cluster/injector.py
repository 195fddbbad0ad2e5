"""A sidecar injector like that of a service mesh: a mutating webhook adds a container to pods."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

from .cluster import Cluster
from .image import WORKER_IMAGE

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_RUNS_ON = "trap 'exit 143' TERM; sleep 1000 & wait"


@contextmanager
def injecting(
    cluster: Cluster,
    namespace: str,
    name: str,
    *,
    native: bool,
    labels: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Add a container ``name`` that never ends by itself to each new pod of ``namespace``.

    Or to those with ``labels`` only. A native sidecar is an init container with restart policy
    Always. Told to end, it exits 143.
    """
    container = {"name": name, "image": WORKER_IMAGE, "command": ["sh", "-c", _RUNS_ON]}
    change = (
        {"path": "/spec/initContainers", "value": [container | {"restartPolicy": "Always"}]}
        if native
        else {"path": "/spec/containers/-", "value": container}
    )
    server = _listening(cluster, [{"op": "add"} | change])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    webhook = {
        "name": "inject.dlf.test",
        "clientConfig": {
            "url": f"https://127.0.0.1:{server.server_port}/",
            "caBundle": base64.b64encode(cluster.authority.certificate.read_bytes()).decode(),
        },
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchLabels": dict(labels or {})},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["pods"],
                "operations": ["CREATE"],
            }
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {"metadata": {"name": namespace}, "webhooks": [webhook]}
    try:
        cluster.api.post(_CONFIGURATIONS, json=configuration).raise_for_status()
        yield
        cluster.api.delete(f"{_CONFIGURATIONS}/{namespace}").raise_for_status()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _listening(cluster: Cluster, patch: list[Any]) -> ThreadingHTTPServer:
    """A server on the loopback of the cluster's network, which answers each review with a patch."""

    class Reviews(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            review["response"] = {
                "uid": review.pop("request")["uid"],
                "allowed": True,
                "patchType": "JSONPatch",
                "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
            }
            body = json.dumps(review).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *values: object) -> None:
            """Say nothing."""

    servers: list[ThreadingHTTPServer] = []

    def listen() -> None:
        cluster.sandbox.enter_network()  # the socket stays in it, and only this thread moves
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Reviews))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    (server,) = servers
    identity = cluster.authority.issue("injector", "127.0.0.1", user="injector")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(identity.certificate, identity.key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    return server
