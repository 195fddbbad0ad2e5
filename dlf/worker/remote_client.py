"""Runs commands in other pods, for `ssh` and `pdsh` of `--remote`; many at once in one process."""

import os
import signal
import struct
from collections.abc import Callable

from dlf.worker import remote_protocol as protocol
from dlf.worker.loop import READ, WRITE, Loop
from dlf.worker.remote_connect import RemoteConnection
from dlf.worker.remote_protocol import ProtocolViolation

SSH_FAILED = 255
"""The exit code of ssh for its own errors, as against those of the command."""


def lost(host: str) -> str:
    """What to say when `is_lost`."""
    return (
        f"lost the connection to {host} before its command ended: the pod was stopped, or its"
        " machine or network failed; see dlf status JOB"
    )


class RemoteCommand:
    """One command in another pod.

    Args:
        loop: of this process.
        connection: from `connect`.
        command: run there by a shell.
        output: called with `STDOUT` or `STDERR` of the protocol, and bytes.
        on_exit: called with the exit code, `SSH_FAILED` when the connection broke.
        first: the type of the first frame, whose payload is `command`.

    Attributes:
        is_lost: the connection broke before the command's exit code came.
    """

    def __init__(
        self,
        loop: Loop,
        connection: RemoteConnection,
        command: bytes,
        output: Callable[[bytes, bytes], None],
        on_exit: Callable[[int], None],
        first: bytes = protocol.COMMAND,
    ) -> None:
        self._loop = loop
        self._connection = connection
        self._output = output
        self._on_exit = on_exit
        self._unsent = bytearray()
        self._unacknowledged = 0
        self._stdin: int | None = None
        self._open = True
        self.is_lost = False
        self._send(first, command)

    def send_stdin(self, descriptor: int) -> None:
        """Send what is read from this descriptor as the command's standard input."""
        self._stdin = descriptor
        self._watch_stdin()

    def end_stdin(self) -> None:
        """Send that the command's standard input ends here."""
        if self._stdin is not None:
            self._loop.unwatch(self._stdin)
            self._stdin = None
        self._send(protocol.STDIN_END)

    def signal(self, number: int) -> None:
        """Send a signal to the command's processes."""
        if self._open:
            self._send(protocol.SIGNAL, bytes([number]))

    def _on_ready(self) -> None:
        self._flush()
        try:
            data = self._connection.socket.recv(protocol.CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        try:
            for kind, payload in self._connection.receiver.feed(data):
                self._handle_frame(kind, payload)
                if not self._open:
                    return
        except ProtocolViolation:
            data = b""
        if not data:
            self.is_lost = True
            self._end(SSH_FAILED)

    def _handle_frame(self, kind: bytes, payload: bytes) -> None:
        if kind in {protocol.STDOUT, protocol.STDERR}:
            self._output(kind, payload)
        elif kind == protocol.STDIN_ACK:
            self._unacknowledged -= struct.unpack(">I", payload)[0]
            self._watch_stdin()
        elif kind == protocol.EXIT:
            self._end(payload[0])

    def _end(self, code: int) -> None:
        self._open = False
        if self._stdin is not None:
            self._loop.unwatch(self._stdin)
        self._loop.unwatch(self._connection.socket.fileno())
        self._connection.socket.close()
        self._on_exit(code)

    def _watch_stdin(self) -> None:
        if self._stdin is None or not self._open:
            return
        if self._unacknowledged >= protocol.STDIN_WINDOW_BYTES:
            self._loop.unwatch(self._stdin)
            return
        try:
            self._loop.watch(self._stdin, READ, self._copy_stdin)
        except PermissionError:  # epoll does not watch files: they are always ready
            while self._copy_stdin():
                pass

    def _copy_stdin(self) -> bool:
        """Send a chunk; False when there is none now, or no more may be sent."""
        if self._stdin is None:
            return False
        room = min(protocol.CHUNK_BYTES, protocol.STDIN_WINDOW_BYTES - self._unacknowledged)
        try:
            data = os.read(self._stdin, room)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.end_stdin()
            return False
        self._unacknowledged += len(data)
        self._send(protocol.STDIN, data)
        if self._unacknowledged >= protocol.STDIN_WINDOW_BYTES:
            self._loop.unwatch(self._stdin)
            return False
        return True

    def _send(self, kind: bytes, payload: bytes = b"") -> None:
        self._unsent += self._connection.sender.frame(kind, payload)
        self._flush()

    def _flush(self) -> None:
        if self._unsent:
            try:
                sent = self._connection.socket.send(self._unsent)
            except OSError:  # it would block, or is broken, which reading will notice
                sent = 0
            del self._unsent[:sent]
        events = READ | (WRITE if self._unsent else 0)
        self._loop.watch(self._connection.socket.fileno(), events, self._on_ready)


class Signals:
    """Forwards signals to `commands`; the second SIGINT or SIGTERM ends this process."""

    def __init__(self, loop: Loop) -> None:
        self._received: list[int] = []
        self._stop_signals = 0
        self.commands: set[RemoteCommand] = set()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)
        loop.on_signal(self._forward)

    def _handle(self, number: int, _frame: object) -> None:
        self._received.append(number)
        self._stop_signals += number in {signal.SIGINT, signal.SIGTERM}
        if self._stop_signals > 1:
            os._exit(128 + number)

    def _forward(self) -> None:
        while self._received:
            number = self._received.pop(0)
            for command in list(self.commands):
                command.signal(number)
