"""The side of `--remote` that runs commands for the job's other pods.

A connection that has not proved the job's secret costs little: some bytes, one of `_STRANGERS`
places, ten seconds at most. When the places are taken, the oldest gives way. The first refusal is
told, the others are counted.
"""

import os
import socket
import time
from collections.abc import Callable, Mapping

from dlf.worker import channel
from dlf.worker.channel import Receiver, Sender
from dlf.worker.loop import READ, Loop
from dlf.worker.processes import Processes
from dlf.worker.session import Session

_STRANGERS = 64
_HANDSHAKE = 10.0  # seconds
_SWEEP = 1.0
_SESSIONS = 1024
_BACKLOG = 128
_PAUSE = 1.0  # seconds without accepting, when there are no descriptors


class Server:
    """Listens, and runs what is asked for with the right proof.

    Args:
        loop: of this process.
        processes: of this process.
        key: from `channel.key`.
        env: the environment of the commands.
        say: prints a line of dlf's own.
        finished: called when the first pod says that its command has ended.
    """

    def __init__(
        self,
        loop: Loop,
        processes: Processes,
        key: bytes,
        env: Mapping[str, str],
        say: Callable[[str], None],
        finished: Callable[[], None],
    ) -> None:
        self.refused = 0
        self.sessions: set[Session] = set()
        self._loop = loop
        self._processes = processes
        self._key = key
        self._env = env
        self._say = say
        self._finished = finished
        self._strangers: dict[_Handshake, None] = {}
        self._sweeping = False
        self._socket: socket.socket | None = None

    def listen(self, address: str, port: int) -> None:
        """Start to listen.

        Raises:
            OSError: the port is taken.
        """
        self._socket = _listening(address, port)
        self._socket.setblocking(False)
        self._loop.watch(self._socket.fileno(), READ, self._accept)

    def close(self) -> None:
        """Accept no more, and end what runs."""
        if self._socket:
            self._loop.forget(self._socket.fileno())
            self._socket.close()
            self._socket = None
        for stranger in list(self._strangers):
            stranger.close()
        for session in list(self.sessions):
            session.abandon()

    def _accept(self) -> None:
        if self._socket is None:
            return
        try:
            connection, address = self._socket.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:  # too many open files, here or in the whole system
            listening = self._socket
            self._loop.forget(listening.fileno())
            self._loop.later(_PAUSE, lambda: self._again(listening))
            return
        connection.setblocking(False)
        if len(self._strangers) >= _STRANGERS:
            next(iter(self._strangers)).close()
        self._strangers[_Handshake(self, connection, str(address[0]))] = None
        if not self._sweeping:
            self._sweeping = True
            self._loop.later(_SWEEP, self._sweep)

    def _sweep(self) -> None:
        """Refuse those that take too long. One timer for all: a timer each would hold them."""
        now = time.monotonic()
        for stranger in list(self._strangers):
            stranger.refuse_after(now)
        self._sweeping = bool(self._strangers)
        if self._sweeping:
            self._loop.later(_SWEEP, self._sweep)

    def _again(self, listening: socket.socket) -> None:
        if self._socket is listening:
            self._loop.watch(listening.fileno(), READ, self._accept)

    def refuse(self, address: str) -> None:
        """Count a connection that had no right to be, and tell the first."""
        self.refused += 1
        if self.refused == 1:
            self._say(
                f"refused a connection from {address} without the job's secret;"
                " further ones are not told"
            )

    def gone(self, stranger: "_Handshake") -> None:
        """A handshake is over."""
        self._strangers.pop(stranger, None)

    def proved(
        self, connection: socket.socket, address: str, sender: Sender, receiver: Receiver
    ) -> None:
        """A connection has proved the secret."""
        if len(self.sessions) >= _SESSIONS:
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
        """That everything waits in."""
        return self._loop


class _Handshake:
    """A connection before it has proved anything."""

    def __init__(self, server: Server, connection: socket.socket, address: str) -> None:
        self._server = server
        self._connection = connection
        self._address = address
        self._read = b""
        self._nonce = b""  # ours, once the other one's is known
        self._open = True
        server.loop.watch(connection.fileno(), READ, self._ready)
        self._deadline = time.monotonic() + _HANDSHAKE

    def close(self) -> None:
        """Let it go."""
        if self._open:
            self._release()
            self._connection.close()

    def _release(self) -> None:
        self._open = False
        self._server.loop.forget(self._connection.fileno())
        self._server.gone(self)

    def refuse_after(self, now: float) -> None:
        """Refuse it when its time is over."""
        if now > self._deadline:
            self._refuse()

    def _refuse(self) -> None:
        if self._read:  # a look whether the port is open is no attempt
            self._server.refuse(self._address)
        self.close()

    def _ready(self) -> None:
        wanted = channel.HELLO + (channel.PROOF if self._nonce else 0)
        try:
            data = self._connection.recv(wanted - len(self._read))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._read += data
        if not data or not channel.MAGIC.startswith(self._read[: len(channel.MAGIC)]):
            self._refuse()
            return
        if len(self._read) < wanted:
            return
        theirs = self._read[len(channel.MAGIC) : channel.HELLO]
        if not self._nonce:
            self._nonce = os.urandom(channel.NONCE)
            self._send(self._nonce)
            return
        given = self._read[channel.HELLO :]
        key, ours = self._server.key, self._nonce
        if not channel.proves(key, "client", theirs, ours, given):
            self._refuse()
            return
        self._send(channel.proof(key, "server", theirs, ours))
        if self._open:
            self._release()
            sender = Sender(key, "server", theirs, ours)
            receiver = Receiver(key, "client", theirs, ours)
            self._server.proved(self._connection, self._address, sender, receiver)

    def _send(self, data: bytes) -> None:
        """A fresh connection takes these few bytes at once."""
        try:
            sent = self._connection.send(data)
        except OSError:
            sent = 0
        if sent < len(data):
            self.close()


def _listening(address: str, port: int) -> socket.socket:
    """IPv6 and IPv4 at once for every address, where the kernel has both."""
    if address:
        return socket.create_server((address, port), backlog=_BACKLOG)
    if socket.has_dualstack_ipv6():
        both = socket.AF_INET6
        try:
            return socket.create_server(
                ("::", port), family=both, backlog=_BACKLOG, dualstack_ipv6=True
            )
        except OSError:  # compiled in, and switched off
            pass
    return socket.create_server(("0.0.0.0", port), backlog=_BACKLOG)  # noqa: S104 - pods call it
