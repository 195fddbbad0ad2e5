"""A terminal of which tests see the screen: a real pseudo-terminal, and pyte that draws it."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Callable

import pyte

_HISTORY = 100_000


class PseudoTerminal:
    """Both ends of a terminal, and what it shows.

    Attributes:
        process_side: descriptor for the process under test.
        written: all bytes that came.
    """

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self._fd, self.process_side = pty.openpty()
        self._screen = pyte.HistoryScreen(columns, rows, history=_HISTORY)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        self._set_size(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Make the window of another size; the foreground process gets SIGWINCH."""
        self._screen.resize(rows, columns)
        self._set_size(columns, rows)

    def _set_size(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self.process_side, termios.TIOCSWINSZ, size)

    def read(self, seconds: float = 0.0) -> bool:
        """Draw what comes within a time; whether anything came."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        part = b""
        with contextlib.suppress(OSError):  # EIO: no process has it any more
            part = os.read(self._fd, 65536)
        self.written += part
        self._stream.feed(part)
        return bool(part)

    def read_until(self, is_so: Callable[[], bool], seconds: float = 60.0) -> None:
        """Draw until something is so."""
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError("\n".join(self.lines()))
            self.read(0.05)

    def read_rest(self) -> None:
        """Draw what is left, when nothing more is written."""
        while self.read(0.1):
            pass

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._fd, keys)

    def rows(self) -> list[str]:
        """The rows on the screen, without blanks at their ends and empty ones below."""
        rows = [row.rstrip() for row in self._screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def lines(self) -> list[str]:
        """All rows from the first one on, also those that have left the screen."""
        columns = self._screen.columns
        history = [
            "".join(row[column].data for column in range(columns)).rstrip()
            for row in self._screen.history.top
        ]
        return history + self.rows()

    def close(self) -> None:
        """Close both ends."""
        os.close(self._fd)
        with contextlib.suppress(OSError):
            os.close(self.process_side)
