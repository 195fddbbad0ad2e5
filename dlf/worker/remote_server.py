"""Listens for the job's other pods, which `--remote` lets run commands here.

A connection that has not proved the job's secret costs little: some bytes, one of
`_MAX_HANDSHAKES` places, ten seconds at most. When no place is free, the oldest such connection is
closed. The first refusal is reported, the others are only counted.
"""

import os
import socket
import time
from collections.abc import Callable, Mapping

from dlf.worker import remote_protocol as protocol
from dlf.worker.loop import READ, Loop
from dlf.worker.processes import Processes
from dlf.worker.remote_protocol import Receiver, Sender
from dlf.worker.remote_session import Session

_MAX_HANDSHAKES = 64
_HANDSHAKE_SECONDS = 10.0
_SWEEP_SECONDS = 1.0
_MAX_SESSIONS = 1024
_BACKLOG = 128
_ACCEPT_PAUSE_SECONDS = 1.0  # when there are no file descriptors left


class Server:
    """Runs the commands of connections that prove the job's secret.

    Args:
        loop: of this process.
        processes: of this process.
        key: from `derive_key`.
        env: the environment of the commands.
        notify: prints a line of dlf's own.
        finished: called when the first pod says that its command has ended.
    """

    def __init__(
        self,
        loop: Loop,
        processes: Processes,
        key: bytes,
        env: Mapping[str, str],
        notify: Callable[[str], None],
        finished: Callable[[], None],
    ) -> None:
        self.refused = 0
        self.sessions: set[Session] = set()
        self._loop = loop
        self._processes = processes
        self._key = key
        self._env = env
        self._notify = notify
        self._finished = finished
        self._handshakes: dict[_Handshake, None] = {}
        self._sweeping = False
        self._socket: socket.socket | None = None

    def listen(self, address: str, port: int) -> None:
        """Start to listen.

        Raises:
            OSError: the port is taken.
        """
        self._socket = _listener(address, port)
        self._socket.setblocking(False)
        self._loop.watch(self._socket.fileno(), READ, self._accept)

    def close(self) -> None:
        """Stop listening, and stop all commands."""
        if self._socket:
            self._loop.unwatch(self._socket.fileno())
            self._socket.close()
            self._socket = None
        for handshake in list(self._handshakes):
            handshake.close()
        for session in list(self.sessions):
            session.close()

    def _accept(self) -> None:
        if self._socket is None:
            return
        try:
            connection, address = self._socket.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:  # too many open files, here or in the whole system
            listener = self._socket
            self._loop.unwatch(listener.fileno())
            self._loop.call_later(_ACCEPT_PAUSE_SECONDS, lambda: self._resume(listener))
            return
        connection.setblocking(False)
        if len(self._handshakes) >= _MAX_HANDSHAKES:
            next(iter(self._handshakes)).close()
        self._handshakes[_Handshake(self, connection, str(address[0]))] = None
        if not self._sweeping:
            self._sweeping = True
            self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Refuse handshakes that take too long, by one timer for all."""
        now = time.monotonic()
        for handshake in list(self._handshakes):
            handshake.refuse_after(now)
        self._sweeping = bool(self._handshakes)
        if self._sweeping:
            self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def _resume(self, listener: socket.socket) -> None:
        if self._socket is listener:
            self._loop.watch(listener.fileno(), READ, self._accept)

    def refuse(self, address: str) -> None:
        """Count a connection without the secret; report the first."""
        self.refused += 1
        if self.refused == 1:
            self._notify(
                f"refused a connection from {address} without the job's secret: a port scan, or a"
                " pod of another job; further ones are not reported"
            )

    def handshake_ended(self, handshake: "_Handshake") -> None:
        """A handshake is over."""
        self._handshakes.pop(handshake, None)

    def authenticated(
        self, connection: socket.socket, address: str, sender: Sender, receiver: Receiver
    ) -> None:
        """A connection has proved the secret."""
        if len(self.sessions) >= _MAX_SESSIONS:
            connection.close()
            return
        session = Session(
            self._loop,
            self._processes,
            connection,
            sender,
            receiver,
            self._env,
            ended=self.sessions.discard,
            refused=lambda: self.refuse(address),
            finished=self._finished,
        )
        self.sessions.add(session)

    @property
    def key(self) -> bytes:
        """The job's key."""
        return self._key

    @property
    def loop(self) -> Loop:
        """The loop of this process."""
        return self._loop


class _Handshake:
    """A connection before it has proved anything."""

    def __init__(self, server: Server, connection: socket.socket, address: str) -> None:
        self._server = server
        self._connection = connection
        self._address = address
        self._read = b""
        self._nonce = b""  # ours, once the client's is known
        self._open = True
        server.loop.watch(connection.fileno(), READ, self._on_ready)
        self._deadline = time.monotonic() + _HANDSHAKE_SECONDS

    def close(self) -> None:
        """Close the connection."""
        if self._open:
            self._release()
            self._connection.close()

    def _release(self) -> None:
        self._open = False
        self._server.loop.unwatch(self._connection.fileno())
        self._server.handshake_ended(self)

    def refuse_after(self, now: float) -> None:
        """Refuse it if its time is over at `now`."""
        if now > self._deadline:
            self._refuse()

    def _refuse(self) -> None:
        if self._read:  # a probe of the port sends nothing, and is no attempt
            self._server.refuse(self._address)
        self.close()

    def _on_ready(self) -> None:
        wanted = protocol.HELLO_BYTES + (protocol.PROOF_BYTES if self._nonce else 0)
        try:
            data = self._connection.recv(wanted - len(self._read))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._read += data
        if not data or not protocol.MAGIC.startswith(self._read[: len(protocol.MAGIC)]):
            self._refuse()
            return
        if len(self._read) < wanted:
            return
        theirs = self._read[len(protocol.MAGIC) : protocol.HELLO_BYTES]
        if not self._nonce:
            self._nonce = os.urandom(protocol.NONCE_BYTES)
            self._send(self._nonce)
            return
        given = self._read[protocol.HELLO_BYTES :]
        key, ours = self._server.key, self._nonce
        if not protocol.verify(key, "client", theirs, ours, given):
            self._refuse()
            return
        self._send(protocol.proof(key, "server", theirs, ours))
        if self._open:
            self._release()
            sender = Sender(key, "server", theirs, ours)
            receiver = Receiver(key, "client", theirs, ours)
            self._server.authenticated(self._connection, self._address, sender, receiver)

    def _send(self, data: bytes) -> None:
        """A fresh connection takes these few bytes at once."""
        try:
            sent = self._connection.send(data)
        except OSError:
            sent = 0
        if sent < len(data):
            self.close()


def _listener(address: str, port: int) -> socket.socket:
    """A listening socket; with address "" for IPv6 and IPv4, where the kernel has both."""
    if address:
        return socket.create_server((address, port), backlog=_BACKLOG)
    if socket.has_dualstack_ipv6():
        both = socket.AF_INET6
        try:
            return socket.create_server(
                ("::", port), family=both, backlog=_BACKLOG, dualstack_ipv6=True
            )
        except OSError:  # IPv6 is compiled in, and switched off
            pass
    return socket.create_server(("0.0.0.0", port), backlog=_BACKLOG)  # noqa: S104 - pods call it
