"""A load generator that plays an API server: pods of one job, and their logs, over TLS.

    python -m bench.server FOLDER '{"pods": 20, "lines": 500000}'

It is a model, not the real thing: `python -m bench --real` measures that. It stays for loads that a
test cluster cannot give, and for runs that must be the same each time. It writes
`FOLDER/kubeconfig` when it listens. Logs have the shape that was measured at a Kubernetes 1.34 API
server: with `follow=true` each line, also an old one, is a chunk and a TLS record of its own;
without, chunks are cut where the server's buffers end, most of them at 2,048 bytes, some at 32 KB.
"""

import itertools
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
from bench.objects import CONTAINER, NAMESPACE, job, job_status, pod, pod_status
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
        per_second: old lines that have the same second in their timestamps.
    """

    pods: int
    lines: int = 0
    rate: int = 0
    seconds: float = 0.0
    length: int = 120
    per_second: int = 5000

    @property
    def total(self) -> int:
        """Lines of all pods."""
        return self.pods * (self.lines + int(self.rate * self.seconds))


def old_lines(load: Load, follow: bool) -> Iterator[bytes]:
    """All old lines of one log, in HTTP chunks, a block for each second of their timestamps."""
    body = b"x" * load.length
    lines = [
        b"%b.%09dZ %b\n" % (SECOND, number * (10**9 // load.per_second), body)
        for number in range(load.per_second)
    ]
    for second in range(-(-load.lines // load.per_second)):
        now = stamp(second)
        block = [
            line.replace(SECOND, now) for line in lines[: load.lines - second * load.per_second]
        ]
        yield b"".join(map(chunk, block if follow else pieces(b"".join(block))))


def pieces(data: bytes) -> Iterator[bytes]:
    """Cut as a real server does without `follow=true`: median 2,048 bytes, mean 3,300."""
    at = 0
    for size in itertools.cycle([*[2048] * 23, 32768]):
        if at >= len(data):
            return
        yield data[at : at + size]
        at += size


def stamp(second: int) -> bytes:
    """The timestamp of a second after the first one, without fraction."""
    begun = time.gmtime(1767323045 + second)
    return time.strftime("%Y-%m-%dT%H:%M:%S", begun).encode()


def live_line(now: int, length: int) -> bytes:
    """A line written at `now`, in nanoseconds: it ends with that time, in seconds."""
    seconds, nanos = divmod(now, 10**9)
    second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode()
    written = b" %d.%06d" % (seconds, nanos // 1000)
    return b"%b.%09dZ %b\n" % (second, nanos, written.rjust(length, b"."))


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
            follow = query.get("follow") == "true"
            for block in old_lines(self.load, follow):
                connection.sendall(block)
            if not follow:
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
                return [running_pod(number) for number in range(self.load.pods)]
            case "pytorchjobs":
                own = {"uid": "j", "resourceVersion": "1", "namespace": NAMESPACE}
                return [_with(job(self.load.pods) | job_status(), own)]
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
            line = live_line(time.time_ns(), load.length)
            # A log that the client has closed is missed in the count of lines.
            with suppress(OSError):
                self._live[number % load.pods].sendall(chunk(line))


def running_pod(number: int) -> dict[str, object]:
    """A pod that runs."""
    spec: dict[str, object] = {
        "containers": [{"name": CONTAINER, "image": "bench"}],
        "nodeName": "node",
    }
    own = {
        "namespace": NAMESPACE,
        "uid": f"uid-{number}",
        "resourceVersion": str(number + 1),
    }
    return _with(pod(number, spec) | pod_status(number, "2026-01-02T03:04:05Z"), own)


def _with(manifest: dict[str, object], own: dict[str, str]) -> dict[str, object]:
    """The object with what a server adds to its metadata."""
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return manifest | {"metadata": metadata | own}


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
