"""The side of `--remote` that asks: commands in other pods, many at once in one process."""

import os
import signal
import socket
import struct
import time
from collections.abc import Callable

from dlf.worker import channel
from dlf.worker.channel import Receiver, Refused, Sender
from dlf.worker.loop import READ, WRITE, Loop
from dlf.worker.session import keep_alive

FAILED = 255
"""The exit code of ssh when it is ssh that failed."""

_CONNECT = 5.0  # seconds
_TRIES = 30.0  # seconds for a pod that does not answer yet
_PAUSE = 0.5


class Unreachable(Exception):
    """The pod cannot be asked; the text says why."""


def connect(host: str, port: int, key: bytes, limit: float = _TRIES) -> "Connection":
    """Connect, and prove the secret to each other.

    Raises:
        Unreachable: within `limit` seconds it did not work.
    """
    deadline = time.monotonic() + limit
    while True:
        try:
            return _connect(host, port, key)
        except Refused:
            raise Unreachable(f"{host} has another job's secret") from None
        except (OSError, UnicodeError) as error:
            if time.monotonic() > deadline:
                reason = getattr(error, "strerror", None) or str(error) or "no answer"
                raise Unreachable(f"cannot reach {host} on port {port}: {reason}") from None
        time.sleep(_PAUSE)


def _connect(host: str, port: int, key: bytes) -> "Connection":
    connection = socket.create_connection((host, port), timeout=_CONNECT)
    try:
        ours, theirs = _prove(connection, key)
    except BaseException:
        connection.close()
        raise
    keep_alive(connection)
    connection.setblocking(False)
    sender = Sender(key, "client", ours, theirs)
    return Connection(connection, sender, Receiver(key, "server", ours, theirs))


def _prove(connection: socket.socket, key: bytes) -> tuple[bytes, bytes]:
    """Both random numbers, ours first.

    Raises:
        OSError: the other side hangs up.
        Refused: it does not know the secret.
    """
    ours = os.urandom(channel.NONCE)
    connection.sendall(channel.MAGIC + ours)
    theirs = _exactly(connection, channel.NONCE)
    connection.sendall(channel.proof(key, "client", ours, theirs))
    given = _exactly(connection, channel.PROOF)
    if not channel.proves(key, "server", ours, theirs, given):
        raise Refused
    return ours, theirs


def _exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes.

    Raises:
        OSError: they do not come. A server with another secret hangs up at this point, but so does
            one that has just been restarted; so it is tried again.
    """
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("it hung up: it may have another job's secret")
        data += more
    return data


class Connection:
    """A socket on which both sides have proved the secret."""

    def __init__(self, connection: socket.socket, sender: Sender, receiver: Receiver) -> None:
        self.socket = connection
        self.sender = sender
        self.receiver = receiver


class Remote:
    """One command in another pod.

    Args:
        loop: of this process.
        connection: from `connect`.
        command: run there by a shell.
        output: called with `channel.STDOUT` or `STDERR` and bytes.
        ended: called with the exit code.
        first: the type of the first frame.
    """

    def __init__(
        self,
        loop: Loop,
        connection: Connection,
        command: bytes,
        output: Callable[[bytes, bytes], None],
        ended: Callable[[int], None],
        first: bytes = channel.COMMAND,
    ) -> None:
        self._loop = loop
        self._connection = connection
        self._output = output
        self._ended = ended
        self._unsent = bytearray()
        self._on_way = 0
        self._stdin: int | None = None
        self._open = True
        self._send(first, command)

    def feed(self, descriptor: int) -> None:
        """Send what this descriptor has as the command's standard input."""
        self._stdin = descriptor
        self._watch_stdin()

    def end_stdin(self) -> None:
        """The command's standard input is empty, or was all sent."""
        if self._stdin is not None:
            self._loop.forget(self._stdin)
            self._stdin = None
        self._send(channel.STDIN_END)

    def signal(self, number: int) -> None:
        """Send a signal to the command's processes."""
        if self._open:
            self._send(channel.SIGNAL, bytes([number]))

    def _ready(self) -> None:
        self._flush()
        try:
            data = self._connection.socket.recv(channel.CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        try:
            for kind, payload in self._connection.receiver.feed(data):
                self._take(kind, payload)
                if not self._open:
                    return
        except Refused:
            data = b""
        if not data:
            self._end(FAILED)

    def _take(self, kind: bytes, payload: bytes) -> None:
        if kind in {channel.STDOUT, channel.STDERR}:
            self._output(kind, payload)
        elif kind == channel.TAKEN:
            self._on_way -= struct.unpack(">I", payload)[0]
            self._watch_stdin()
        elif kind == channel.EXIT:
            self._end(payload[0])

    def _end(self, code: int) -> None:
        self._open = False
        if self._stdin is not None:
            self._loop.forget(self._stdin)
        self._loop.forget(self._connection.socket.fileno())
        self._connection.socket.close()
        self._ended(code)

    def _watch_stdin(self) -> None:
        if self._stdin is None or not self._open:
            return
        if self._on_way >= channel.WINDOW:
            self._loop.forget(self._stdin)
            return
        try:
            self._loop.watch(self._stdin, READ, self._copy_stdin)
        except PermissionError:  # epoll does not watch files: they are always ready
            while self._copy_stdin():
                pass

    def _copy_stdin(self) -> bool:
        """Send a piece; False when there is none now, or no more may be sent."""
        if self._stdin is None:
            return False
        try:
            data = os.read(self._stdin, min(channel.CHUNK, channel.WINDOW - self._on_way))
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.end_stdin()
            return False
        self._on_way += len(data)
        self._send(channel.STDIN, data)
        if self._on_way >= channel.WINDOW:
            self._loop.forget(self._stdin)
            return False
        return True

    def _send(self, kind: bytes, payload: bytes = b"") -> None:
        self._unsent += self._connection.sender.frame(kind, payload)
        self._flush()

    def _flush(self) -> None:
        if self._unsent:
            try:
                sent = self._connection.socket.send(self._unsent)
            except OSError:  # also when it would block; a broken one is noticed by reading
                sent = 0
            del self._unsent[:sent]
        events = READ | (WRITE if self._unsent else 0)
        self._loop.watch(self._connection.socket.fileno(), events, self._ready)


class Signals:
    """Passes signals on to the commands; the second SIGINT or SIGTERM ends this process."""

    def __init__(self, loop: Loop) -> None:
        self._received: list[int] = []
        self._ends = 0
        self.to: set[Remote] = set()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)
        loop.on_signal(self._pass_on)

    def _handle(self, number: int, _frame: object) -> None:
        self._received.append(number)
        self._ends += number in {signal.SIGINT, signal.SIGTERM}
        if self._ends > 1:
            os._exit(128 + number)

    def _pass_on(self) -> None:
        while self._received:
            number = self._received.pop(0)
            for remote in list(self.to):
                remote.signal(number)
