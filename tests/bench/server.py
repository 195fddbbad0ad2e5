"""A load generator that plays an API server: pods of one job, and their logs, over TLS.

    python -m bench.server FOLDER '{"pods": 20, "lines": 500000}'

It writes `FOLDER/kubeconfig` when it listens. Logs have the shape that a client of a real server
sees: old lines come in chunks of about 4 KB, as the API server copies them from a kubelet; live
lines each as a chunk and a TLS record of its own.
"""

import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import msgspec
from fake_api.certificates import Authority

SECOND = b"2026-01-02T03:04:05"
VERSION = "1000"  # resourceVersion of every list
DISCOVERY = {
    "versions": [{"groupVersion": "kubeflow.org/v1", "version": "v1"}],
    "resources": [{"name": "pytorchjobs", "kind": "PyTorchJob", "namespaced": True}],
}


class Load(msgspec.Struct, frozen=True):
    """What the containers write.

    Attributes:
        pods: how many, one container each.
        lines: that each has written already; they come as fast as the client reads.
        rate: lines that each writes in a second from when all logs are open.
        seconds: for which they do that.
        length: bytes of a message.
        chunk: bytes of an HTTP chunk of old lines; 0 for a chunk a line.
        per_second: old lines that have the same second in their timestamps.
    """

    pods: int
    lines: int = 0
    rate: int = 0
    seconds: float = 0.0
    length: int = 120
    chunk: int = 4096
    per_second: int = 5000

    @property
    def total(self) -> int:
        """Lines of all pods."""
        return self.pods * (self.lines + int(self.rate * self.seconds))


def old_lines(load: Load) -> Iterator[bytes]:
    """All old lines of one log, in HTTP chunks, a block for each second of their timestamps."""
    body = b"x" * load.length
    lines = [
        b"%b.%09dZ %b\n" % (SECOND, number * (10**9 // load.per_second), body)
        for number in range(load.per_second)
    ]
    per_chunk = max(1, load.chunk // len(lines[0]))
    starts = range(0, load.per_second, per_chunk)
    block = b"".join(chunk(b"".join(lines[at : at + per_chunk])) for at in starts)
    for second in range(load.lines // load.per_second):
        yield block.replace(SECOND, stamp(second))
    rest = lines[: load.lines % load.per_second]
    if rest:
        yield chunk(b"".join(rest).replace(SECOND, stamp(load.lines // load.per_second)))


def stamp(second: int) -> bytes:
    """The timestamp of a second after the first one, without fraction."""
    begun = time.gmtime(1767323045 + second)
    return time.strftime("%Y-%m-%dT%H:%M:%S", begun).encode()


def chunk(data: bytes) -> bytes:
    """An HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Server:
    """Answers what a follower of logs asks: a thread for each connection, one for live lines."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self._live: list[ssl.SSLSocket] = []
        self._lock = threading.Lock()

    def serve(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        """Accept connections for ever."""
        if self.load.rate:
            threading.Thread(target=self._write_live, daemon=True).start()
        while True:
            connection, _ = listener.accept()
            threading.Thread(
                target=self._connection, args=(connection, context), daemon=True
            ).start()

    def _connection(self, raw: socket.socket, context: ssl.SSLContext) -> None:
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = context.wrap_socket(raw, server_side=True)
            head = b""
            while True:
                while b"\r\n\r\n" not in head:
                    data = connection.recv(65536)
                    if not data:
                        return
                    head += data
                request, _, head = head.partition(b"\r\n\r\n")
                if self._answer(connection, request.split(b" ")[1].decode()):
                    return
        except OSError:
            pass

    def _answer(self, connection: ssl.SSLSocket, target: str) -> bool:
        """Answer one request; whether the connection is given away to the live lines."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query))
        if parts.path.endswith("/log"):
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for block in old_lines(self.load):
                connection.sendall(block)
            if query.get("follow") != "true":
                connection.sendall(chunk(b""))
                return False
            if not self.load.rate:
                time.sleep(3600)
            with self._lock:
                self._live.append(connection)
            return True
        plural, _, name = parts.path.partition("/namespaces/bench/")[2].partition("/")
        if "watch" in query:
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            if plural == "pods" and query.get("resourceVersion") != VERSION:
                for each in self._collection("pods"):
                    event = {"type": "ADDED", "object": each}
                    connection.sendall(chunk(json.dumps(event).encode() + b"\n"))
            time.sleep(3600)
        answer: object = DISCOVERY
        if plural:
            items = self._collection(plural)
            answer = (
                items[0] if name else {"metadata": {"resourceVersion": VERSION}, "items": items}
            )
        body = json.dumps(answer).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % len(body) + body)
        return False

    def _collection(self, plural: str) -> list[dict[str, object]]:
        match plural:
            case "pods":
                return [pod(number) for number in range(self.load.pods)]
            case "pytorchjobs":
                return [job(self.load.pods)]
            case _:
                return []

    def _write_live(self) -> None:
        """Write lines, evenly spread in time over all pods, when all their logs are open."""
        load = self.load
        while len(self._live) < load.pods:
            time.sleep(0.05)
        time.sleep(1)
        begun = time.monotonic()
        for number in range(int(load.pods * load.rate * load.seconds)):
            wait = begun + number / (load.pods * load.rate) - time.monotonic()
            if wait > 0.0002:
                time.sleep(wait)
            now = time.time_ns()
            seconds, nanos = divmod(now, 10**9)
            second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode()
            message = b"%d" % now
            line = b"%b.%09dZ %b\n" % (second, nanos, message.ljust(load.length, b"."))
            # A log that the client has closed is missed in the count of lines.
            with suppress(OSError):
                self._live[number % load.pods].sendall(chunk(line))


def job(pods: int) -> dict[str, object]:
    """The job, which runs."""
    return {
        "kind": "PyTorchJob",
        "apiVersion": "kubeflow.org/v1",
        "metadata": {"name": "bench", "namespace": "bench", "uid": "j", "resourceVersion": "1"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": pods}}},
        "status": {"conditions": [{"type": "Running", "status": "True"}]},
    }


def pod(number: int) -> dict[str, object]:
    """A pod that runs."""
    name = f"bench-worker-{number}"
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "bench",
            "uid": f"uid-{number}",
            "resourceVersion": str(number + 1),
            "labels": {
                "training.kubeflow.org/job-name": "bench",
                "training.kubeflow.org/replica-type": "worker",
                "training.kubeflow.org/replica-index": str(number),
            },
        },
        "spec": {"containers": [{"name": "pytorch", "image": "bench"}], "nodeName": "node"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {
                    "name": "pytorch",
                    "containerID": f"containerd://{number:064x}",
                    "ready": True,
                    "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}},
                    "image": "bench",
                    "imageID": "",
                    "restartCount": 0,
                }
            ],
        },
    }


def kubeconfig(port: int, authority: bytes, folder: Path) -> str:
    """A kubeconfig for this server, in JSON, which is YAML too."""
    (folder / "ca.pem").write_bytes(authority)
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority": str(folder / "ca.pem"),
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "bench", "cluster": cluster}],
            "users": [{"name": "bench", "user": {}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
            "current-context": "bench",
        }
    )


def main(folder: Path, load: Load) -> None:
    """Serve until killed."""
    authority = Authority()
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    text = kubeconfig(listener.getsockname()[1], authority.pem, folder)
    (folder / "kubeconfig.part").write_text(text)
    (folder / "kubeconfig.part").rename(folder / "kubeconfig")
    Server(load).serve(listener, authority.server())


if __name__ == "__main__":
    main(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Load))
