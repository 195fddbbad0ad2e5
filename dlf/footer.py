"""What stands below all other lines of a terminal: a line whose end has not come, the status line.

The cursor is left at its beginning, and it is not wrapped: so whoever prints next has only to write
`erasure` first, also after the window has become narrower.
"""

import os

_ERASURE = b"\r\x1b[?7h\x1b[J"  # wrap again, and clear from here to the end of the screen
_NO_WRAP = b"\r\x1b[?7l"
_END = b"\x1b[J\x1b[?7h"
_NEXT_ROW = b"\x1b[K\r\n"
_UP = b"\x1b[A"
_DEFAULT_COLUMNS = 80  # of a terminal that does not know its size


class Footer:
    """Draws it, and knows whether it is on the screen. A terminal that is stopped stops nobody.

    Args:
        descriptor: of the terminal; it is opened once more, to write without waiting.

    Attributes:
        is_held: somebody is in the middle of writing: nothing is drawn.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, descriptor: int) -> None:
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        self._fd = os.open(f"/proc/self/fd/{descriptor}", flags)
        self._status = ""
        self._preview = b""
        self._is_drawn = False
        self.is_held = False

    @property
    def erasure(self) -> bytes:
        """What to write before other text; b"" when nothing is drawn. Then say `erased`."""
        return _ERASURE if self._is_drawn else b""

    def erased(self) -> None:
        """Its erasure was written."""
        self._is_drawn = False

    def show_status(self, text: str) -> None:
        """Show another status line; "" for none."""
        if text != self._status or not self._is_drawn:
            self._status = text
            self.draw()

    def show_preview(self, text: bytes) -> None:
        """Show a line whose end has not come; b"" for none."""
        if text != self._preview:
            self._preview = text
            self.draw()

    def hold(self) -> None:
        """Lines are being written: they take the place of the preview."""
        self.is_held = True
        self._preview = b""

    def release(self) -> None:
        """They are written whole."""
        self.is_held = False
        self.draw()

    def draw(self) -> None:
        """Draw it, unless it is held, or a shell has the terminal."""
        if self.is_held or not self._is_in_foreground():
            return
        status = self._status[: self._columns() - 1].encode(errors="replace")
        rows = [row for row in (self._preview, status) if row]
        if rows:
            up = _UP * (len(rows) - 1)
            text = _NO_WRAP + _NEXT_ROW.join(rows) + _END + up + b"\r"
            self._is_drawn = self._write(text) or self._is_drawn
        elif self._is_drawn:
            self._is_drawn = not self._write(_ERASURE)

    def clear(self) -> None:
        """Take it away for good."""
        self._status, self._preview, self.is_held = "", b"", False
        self.draw()

    def close(self) -> None:
        """Let go of the descriptor."""
        os.close(self._fd)

    def _write(self, text: bytes) -> bool:
        """Write it, unless the terminal is stopped, or gone; whether it was written."""
        try:
            return os.write(self._fd, text) > 0
        except OSError:
            return False

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._fd).columns or _DEFAULT_COLUMNS
        except OSError:
            return _DEFAULT_COLUMNS

    def _is_in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:  # not the terminal of this session: no shell shares it
            return True
