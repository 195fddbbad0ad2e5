"""One connection that has proved the job's secret, and the command that it runs."""

import os
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from dlf.worker import channel
from dlf.worker.channel import Receiver, Refused, Sender
from dlf.worker.loop import READ, WRITE, Loop
from dlf.worker.processes import LOGIN, Processes
from dlf.worker.programs import CannotStart
from dlf.worker.shell import by_shell

_UNSENT = 256 << 10  # bytes: with more on their way the command has to wait
_FIRST = 10.0  # seconds for the first frame
_KEEPALIVE = (
    (socket.TCP_KEEPIDLE, 30),
    (socket.TCP_KEEPINTVL, 10),
    (socket.TCP_KEEPCNT, 3),
)


class Session:
    """Runs the command of one connection; when the connection ends, so does the command.

    Args:
        loop: of this process.
        processes: of this process.
        connection: a socket that does not block.
        sender: makes our frames.
        receiver: reads theirs.
        env: of the command.
        ended: called when it is over.
        refused: called when the other side sends what it may not.
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
        self._stdin = -1
        self._input = bytearray()
        self._input_ended = False
        self._outputs: dict[int, bytes] = {}  # pipe -> type of its frames
        self._open = True
        keep_alive(connection)
        loop.watch(connection.fileno(), READ, self._ready)
        loop.later(_FIRST, self._late)

    def abandon(self) -> None:
        """End the connection, and the command with it."""
        if not self._open:
            return
        self._open = False
        self._loop.forget(self._connection.fileno())
        self._connection.close()
        for pipe in list(self._outputs):
            self._close_output(pipe)
        self._close_stdin()
        if self._group and self._code is None:
            self._processes.stop([self._group], lambda _: None)
        self._ended(self)

    def _late(self) -> None:
        if not self._started:
            self.abandon()

    def _ready(self) -> None:
        self._flush()
        try:
            data = self._connection.recv(channel.CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.abandon()
            return
        try:
            for kind, payload in self._receiver.feed(data):
                self._take(kind, payload)
                if not self._open:
                    return
        except Refused:
            self._refused()
            self.abandon()

    def _take(self, kind: bytes, payload: bytes) -> None:
        if not self._started:
            self._started = True
            if kind == channel.COMMAND:
                self._run(payload)
            elif kind == channel.FINISH:
                self._exit(0)
                self._finished()
            else:
                raise Refused
        elif kind == channel.STDIN:
            self._input += payload
            if len(self._input) > channel.WINDOW:
                raise Refused
            self._feed()
        elif kind == channel.STDIN_END:
            self._input_ended = True
            self._feed()
        elif kind == channel.SIGNAL and len(payload) == 1:
            if self._group and self._code is None and payload[0] in _SIGNALS:
                self._processes.signal(payload[0], [self._group])
        else:
            raise Refused

    def _run(self, command: bytes) -> None:
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(3)]
        (theirs_in, self._stdin), (out, theirs_out), (err, theirs_err) = pipes
        try:
            argv = by_shell(os.fsdecode(command), self._env)
            self._group = self._processes.start(
                argv, self._env, (theirs_in, theirs_out, theirs_err), self._command_ended, LOGIN
            )
        except CannotStart as error:
            self._send(channel.STDERR, f"dlf: {error}\n".encode())
            os.close(out)
            os.close(err)
            self._close_stdin()
            self._exit(error.code)
            return
        finally:
            for end in (theirs_in, theirs_out, theirs_err):
                os.close(end)
        os.set_blocking(self._stdin, False)
        for pipe, kind in ((out, channel.STDOUT), (err, channel.STDERR)):
            os.set_blocking(pipe, False)
            self._outputs[pipe] = kind
        self._pace()

    def _command_ended(self, code: int) -> None:
        self._code = code
        if not self._open:
            return
        self._close_stdin()
        for pipe in list(self._outputs):
            # What a background process still holds open is not waited for, as in a container.
            while pipe in self._outputs and self._copy(pipe):
                pass
            self._close_output(pipe)
        self._exit(code)

    def _exit(self, code: int) -> None:
        self._code = code
        self._send(channel.EXIT, bytes([code & 0xFF]))

    def _copy(self, pipe: int) -> bool:
        """Send a piece of output; False when there is none now, or no more ever."""
        try:
            chunk = os.read(pipe, channel.CHUNK)
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
                # Not now: the caller is in the middle of something.
                self._loop.later(0.0, self.abandon)
                return
            del self._unsent[:sent]
        self._pace()

    def _pace(self) -> None:
        """Read output only as fast as the connection takes it."""
        if not self._open:
            return
        events = READ | (WRITE if self._unsent else 0)
        self._loop.watch(self._connection.fileno(), events, self._ready)
        for pipe in self._outputs:
            if len(self._unsent) > _UNSENT:
                self._loop.forget(pipe)
            else:
                self._loop.watch(pipe, READ, partial(self._copy, pipe))

    def _feed(self) -> None:
        """Give standard input to the command as it takes it."""
        if self._stdin < 0:
            self._taken(len(self._input))
            return
        written = 0
        with suppress(BlockingIOError):
            try:
                while self._input:
                    count = os.write(self._stdin, self._input[: channel.CHUNK])
                    del self._input[:count]
                    written += count
            except BrokenPipeError:
                self._close_stdin()
                self._taken(len(self._input))
                return
        if written:
            self._send(channel.TAKEN, struct.pack(">I", written))
        if self._input:
            self._loop.watch(self._stdin, WRITE, self._feed)
        else:
            self._loop.forget(self._stdin)
            if self._input_ended:
                self._close_stdin()

    def _taken(self, count: int) -> None:
        """Nobody reads it: it is thrown away."""
        self._input.clear()
        if count:
            self._send(channel.TAKEN, struct.pack(">I", count))

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.forget(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    def _close_output(self, pipe: int) -> None:
        if self._outputs.pop(pipe, None):
            self._loop.forget(pipe)
            os.close(pipe)


_SIGNALS = {1, 2, 3, 6, 9, 10, 12, 15, 18, 19, 20}
"""HUP, INT, QUIT, ABRT, KILL, USR1, USR2, TERM, CONT, STOP, TSTP."""


def keep_alive(connection: socket.socket) -> None:
    """Notice within a minute that the other side's machine has gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
