"""One authenticated connection of `--remote`, and the command that it runs in this container."""

import os
import socket
import struct
from collections.abc import Callable, Mapping
from functools import partial

from dlf.worker import remote_protocol as protocol
from dlf.worker.loop import READ, WRITE, Loop
from dlf.worker.processes import LOGIN_SIGNALS, Processes
from dlf.worker.programs import CannotStart
from dlf.worker.remote_connect import keep_alive
from dlf.worker.remote_protocol import ProtocolViolation, Receiver, Sender
from dlf.worker.remote_stdin import CommandStdin
from dlf.worker.shell import by_shell

_MAX_UNSENT_BYTES = 256 << 10  # of output; above that the command's pipes are not read
_FIRST_FRAME_SECONDS = 10.0


class Session:
    """Runs the command of one connection; stops it when the connection ends.

    Args:
        loop: of this process.
        processes: of this process.
        connection: a socket that does not block.
        sender: encodes our frames.
        receiver: decodes theirs.
        env: of the command.
        ended: called when it is over.
        refused: called when the other side violates the protocol.
        finished: called when the first pod's command has ended.
    """

    def __init__(
        self,
        loop: Loop,
        processes: Processes,
        connection: socket.socket,
        sender: Sender,
        receiver: Receiver,
        env: Mapping[str, str],
        *,
        ended: Callable[["Session"], None],
        refused: Callable[[], None],
        finished: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._processes = processes
        self._connection = connection
        self._sender = sender
        self._receiver = receiver
        self._env = env
        self._ended = ended
        self._refused = refused
        self._finished = finished
        self._group = 0
        self._started = False
        self._code: int | None = None
        self._unsent = bytearray()
        self._stdin = CommandStdin(loop, self._acknowledge_stdin)
        self._outputs: dict[int, bytes] = {}  # pipe -> type of its frames
        self._open = True
        keep_alive(connection)
        loop.watch(connection.fileno(), READ, self._on_ready)
        loop.call_later(_FIRST_FRAME_SECONDS, self._expire)

    def close(self) -> None:
        """Close the connection, and stop the command."""
        if not self._open:
            return
        self._open = False
        self._loop.unwatch(self._connection.fileno())
        self._connection.close()
        for pipe in list(self._outputs):
            self._close_output(pipe)
        self._stdin.close()
        if self._group and self._code is None:
            self._processes.stop([self._group], lambda _: None)
        self._ended(self)

    def _expire(self) -> None:
        if not self._started:
            self.close()

    def _on_ready(self) -> None:
        self._flush()
        try:
            data = self._connection.recv(protocol.CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        try:
            for kind, payload in self._receiver.feed(data):
                self._handle_frame(kind, payload)
                if not self._open:
                    return
        except ProtocolViolation:
            self._refused()
            self.close()

    def _handle_frame(self, kind: bytes, payload: bytes) -> None:
        if not self._started:
            self._started = True
            if kind == protocol.COMMAND:
                self._run(payload)
            elif kind == protocol.FINISH:
                self._exit(0)
                self._finished()
            else:
                raise ProtocolViolation
        elif kind == protocol.STDIN:
            self._stdin.receive(payload)
        elif kind == protocol.STDIN_END:
            self._stdin.receive_end()
        elif kind == protocol.SIGNAL and len(payload) == 1:
            if self._group and self._code is None and payload[0] in _ALLOWED_SIGNALS:
                self._processes.signal(payload[0], [self._group])
        else:
            raise ProtocolViolation

    def _run(self, command: bytes) -> None:
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(3)]
        (theirs_in, stdin), (out, theirs_out), (err, theirs_err) = pipes
        self._stdin.open(stdin)
        try:
            argv = by_shell(os.fsdecode(command), self._env)
            self._group = self._processes.start(
                argv,
                self._env,
                (theirs_in, theirs_out, theirs_err),
                self._command_ended,
                LOGIN_SIGNALS,
            )
        except CannotStart as error:
            self._send(protocol.STDERR, f"dlf: {error}\n".encode())
            os.close(out)
            os.close(err)
            self._stdin.close()
            self._exit(error.code)
            return
        finally:
            for end in (theirs_in, theirs_out, theirs_err):
                os.close(end)
        for pipe, kind in ((out, protocol.STDOUT), (err, protocol.STDERR)):
            os.set_blocking(pipe, False)
            self._outputs[pipe] = kind
        self._apply_backpressure()

    def _command_ended(self, code: int) -> None:
        self._code = code
        if not self._open:
            return
        self._stdin.close()
        for pipe in list(self._outputs):
            # A background process may hold the pipe open: as in a container, it is not waited for.
            while pipe in self._outputs and self._copy(pipe):
                pass
            self._close_output(pipe)
        self._exit(code)

    def _exit(self, code: int) -> None:
        self._code = code
        self._send(protocol.EXIT, bytes([code & 0xFF]))

    def _copy(self, pipe: int) -> bool:
        """Send a chunk of output; False when there is none now, or the output has ended."""
        try:
            chunk = os.read(pipe, protocol.CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._close_output(pipe)
            return False
        self._send(self._outputs[pipe], chunk)
        return True

    def _send(self, kind: bytes, payload: bytes) -> None:
        self._unsent += self._sender.frame(kind, payload)
        self._flush()

    def _flush(self) -> None:
        """Send what the connection takes."""
        if self._unsent and self._open:
            try:
                sent = self._connection.send(self._unsent)
            except BlockingIOError:
                sent = 0
            except OSError:
                self._unsent.clear()
                # Later: a caller of this still uses the session.
                self._loop.call_later(0.0, self.close)
                return
            del self._unsent[:sent]
        self._apply_backpressure()

    def _apply_backpressure(self) -> None:
        """Read output only as fast as the connection takes it."""
        if not self._open:
            return
        events = READ | (WRITE if self._unsent else 0)
        self._loop.watch(self._connection.fileno(), events, self._on_ready)
        for pipe in self._outputs:
            if len(self._unsent) > _MAX_UNSENT_BYTES:
                self._loop.unwatch(pipe)
            else:
                self._loop.watch(pipe, READ, partial(self._copy, pipe))

    def _acknowledge_stdin(self, count: int) -> None:
        self._send(protocol.STDIN_ACK, struct.pack(">I", count))

    def _close_output(self, pipe: int) -> None:
        if self._outputs.pop(pipe, None):
            self._loop.unwatch(pipe)
            os.close(pipe)


_ALLOWED_SIGNALS = {1, 2, 3, 6, 9, 10, 12, 15, 18, 19, 20}
"""HUP, INT, QUIT, ABRT, KILL, USR1, USR2, TERM, CONT, STOP, TSTP."""
