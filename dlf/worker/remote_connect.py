"""Connects to the worker of another pod: TCP, then the handshake of `remote_protocol`."""

import os
import socket
import time

from dlf.worker import remote_protocol as protocol
from dlf.worker.remote_protocol import ProtocolViolation, Receiver, Sender

_CONNECT_SECONDS = 5.0  # of one try
_CONNECT_TOTAL_SECONDS = 30.0  # of all tries, for a pod that does not answer yet
_RETRY_SECONDS = 0.5
_KEEPALIVE = (
    (socket.TCP_KEEPIDLE, 30),
    (socket.TCP_KEEPINTVL, 10),
    (socket.TCP_KEEPCNT, 3),
)


class Unreachable(Exception):
    """The other pod cannot be reached; the text says why."""


def connect(
    host: str, port: int, key: bytes, limit: float = _CONNECT_TOTAL_SECONDS
) -> "RemoteConnection":
    """Connect, and prove the job's secret to each other.

    Raises:
        Unreachable: no try succeeded within `limit` seconds, or the pod has another secret.
    """
    deadline = time.monotonic() + limit
    while True:
        try:
            return _connect(host, port, key)
        except ProtocolViolation:
            raise Unreachable(
                f"{host} has another secret than this pod: it is of another job, or the job's"
                " Secret was replaced"
            ) from None
        except (OSError, UnicodeError) as error:
            if time.monotonic() > deadline:
                reason = getattr(error, "strerror", None) or str(error) or "no answer"
                raise Unreachable(
                    f"cannot reach {host} on port {port}: {reason}; see dlf status JOB"
                ) from None
        time.sleep(_RETRY_SECONDS)


def _connect(host: str, port: int, key: bytes) -> "RemoteConnection":
    connection = socket.create_connection((host, port), timeout=_CONNECT_SECONDS)
    try:
        ours, theirs = _prove(connection, key)
    except BaseException:
        connection.close()
        raise
    keep_alive(connection)
    connection.setblocking(False)
    sender = Sender(key, "client", ours, theirs)
    return RemoteConnection(connection, sender, Receiver(key, "server", ours, theirs))


def _prove(connection: socket.socket, key: bytes) -> tuple[bytes, bytes]:
    """Do the handshake; return both random numbers, ours first.

    Raises:
        OSError: the other side hangs up.
        ProtocolViolation: it does not know the secret.
    """
    ours = os.urandom(protocol.NONCE_BYTES)
    connection.sendall(protocol.MAGIC + ours)
    theirs = _exactly(connection, protocol.NONCE_BYTES)
    connection.sendall(protocol.proof(key, "client", ours, theirs))
    given = _exactly(connection, protocol.PROOF_BYTES)
    if not protocol.verify(key, "server", ours, theirs, given):
        raise ProtocolViolation
    return ours, theirs


def _exactly(connection: socket.socket, count: int) -> bytes:
    """Receive exactly `count` bytes.

    Raises:
        OSError: the connection ended before. A server with another secret hangs up at this point,
            but so does one that has just been restarted; so the caller tries again.
    """
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("it hung up: it may have another job's secret")
        data += more
    return data


class RemoteConnection:
    """A connection on which both sides have proved the secret."""

    def __init__(self, connection: socket.socket, sender: Sender, receiver: Receiver) -> None:
        self.socket = connection
        self.sender = sender
        self.receiver = receiver


def keep_alive(connection: socket.socket) -> None:
    """Notice within a minute that the other side's machine has gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
