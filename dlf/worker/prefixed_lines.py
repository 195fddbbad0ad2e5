r"""A process's output as whole lines with a prefix, whatever pieces it is read in.

Lines end at `\n` only; other bytes pass as they are. A line of more than a mebibyte is broken, so
that a process that never ends its line takes bounded memory.
"""

_MAX_LINE_BYTES = 1 << 20


class PrefixedLines:
    """Collects what one process writes to one stream.

    Args:
        prefix: put before each line, such as `b"[0] "`.
    """

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._partial: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> bytes:
        """The lines that the chunk completes, each with its prefix and its newline."""
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            return self._hold(chunk)
        lines = b"".join([*self._partial, head])
        self._partial, self._size = [], 0
        prefixed = self._prefix + lines.replace(b"\n", b"\n" + self._prefix) + b"\n"
        return prefixed + self._hold(tail)

    def close(self) -> bytes:
        """The last line, if it was not ended; it is ended here."""
        last, self._partial, self._size = b"".join(self._partial), [], 0
        return self._prefix + last + b"\n" if last else b""

    def _hold(self, part: bytes) -> bytes:
        if part:
            self._partial.append(part)
            self._size += len(part)
        return self.close() if self._size > _MAX_LINE_BYTES else b""
