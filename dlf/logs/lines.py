r"""Bytes in any chunking -> blocks of whole lines. Only `\n` ends a line."""


class LineBuffer:
    r"""Cuts a byte stream after the last newline of each chunk and keeps the rest.

    Bytes pass undecoded; `\r`, form feeds and bad UTF-8 are content. The unterminated rest is
    kept in the pieces it came in, so a long line costs no repeated copying.

    Attributes:
        size: bytes of the rest.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self.size = 0

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk; return all lines it completed, newlines included, or b""."""
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._rest.append(chunk)
            self.size += len(chunk)
            return b""
        if cut == len(chunk) and not self._rest:
            return chunk
        block = b"".join((*self._rest, chunk[:cut])) if self._rest else chunk[:cut]
        self._rest = [chunk[cut:]] if cut < len(chunk) else []
        self.size = len(chunk) - cut
        return block

    def take(self) -> bytes:
        """Return the unterminated rest, or b"", and forget it."""
        rest = b"".join(self._rest)
        self._rest = []
        self.size = 0
        return rest
