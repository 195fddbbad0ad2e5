"""A line that was printed, or comes, in pieces: which of its bytes are new."""


class PartialLine:
    """The unfinished line at a log's position.

    Attributes:
        printed: bytes printed of the line printed last, if its end was not printed yet; else 0.
        received: bytes of the current line that this stream brought in pieces.
        is_new: the current line is printed from `printed` on; else it is a repeated one.
    """

    __slots__ = ("is_new", "printed", "received")

    def __init__(self) -> None:
        self.printed = self.received = 0
        self.is_new = False

    def begin(self, piece: bytes, *, is_new: bool) -> bytes:
        """Take the first piece of a line; return what of it was not printed, if the line is new."""
        self.received = len(piece)
        self.is_new = is_new
        if not is_new:
            return b""
        unprinted = piece[self.printed :]
        self.printed = max(self.printed, len(piece))
        return unprinted

    def extend(self, piece: bytes) -> bytes:
        """Take a further piece of the current line; return what of it was not printed."""
        start, self.received = self.received, self.received + len(piece)
        if not self.is_new:
            return b""
        unprinted = piece[max(0, self.printed - start) :]
        self.printed = max(self.printed, self.received)
        return unprinted

    def end(self, piece: bytes) -> bytes:
        """Take the last piece of the current line; return what of it was not printed."""
        unprinted = self.extend(piece)
        if self.is_new:
            self.printed = 0
        self.received = 0
        return unprinted
