"""Standard input of a remote command: kept until the command reads it, up to the window."""

import os
from collections.abc import Callable

from dlf.worker import remote_protocol as protocol
from dlf.worker.loop import WRITE, Loop
from dlf.worker.remote_protocol import ProtocolViolation


class CommandStdin:
    """Copies what the client sends to a pipe; without a pipe it is dropped.

    Args:
        loop: of this process.
        acknowledge: called with the number of bytes that were taken from the window.
    """

    def __init__(self, loop: Loop, acknowledge: Callable[[int], None]) -> None:
        self._loop = loop
        self._acknowledge = acknowledge
        self._pipe = -1
        self._data = bytearray()
        self._ended = False

    def open(self, pipe: int) -> None:
        """Write to this pipe from now on; it is closed by `close`."""
        os.set_blocking(pipe, False)
        self._pipe = pipe

    def receive(self, data: bytes) -> None:
        """Take bytes from the client.

        Raises:
            ProtocolViolation: more than the window allows.
        """
        self._data += data
        if len(self._data) > protocol.STDIN_WINDOW_BYTES:
            raise ProtocolViolation
        self._copy()

    def receive_end(self) -> None:
        """The client sends no more: close the pipe after what is left."""
        self._ended = True
        self._copy()

    def close(self) -> None:
        """Close the pipe."""
        if self._pipe >= 0:
            self._loop.unwatch(self._pipe)
            os.close(self._pipe)
            self._pipe = -1

    def _copy(self) -> None:
        """Write as much as the pipe takes."""
        if self._pipe < 0:
            self._drop()
            return
        written = 0
        try:
            while self._data:
                count = os.write(self._pipe, self._data[: protocol.CHUNK_BYTES])
                del self._data[:count]
                written += count
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.close()
            self._drop()
            return
        if written:
            self._acknowledge(written)
        if self._data:
            self._loop.watch(self._pipe, WRITE, self._copy)
        else:
            self._loop.unwatch(self._pipe)
            if self._ended:
                self.close()

    def _drop(self) -> None:
        """Nobody reads it."""
        count = len(self._data)
        self._data.clear()
        if count:
            self._acknowledge(count)
