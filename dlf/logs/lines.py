r"""Bytes in any chunking -> whole lines, and batches of them. Only `\n` ends a line."""

import msgspec

from dlf.logs.timestamps import FRAGMENT_BYTES, join_fragments, split


class LineBuffer:
    r"""Cuts a byte stream after the last newline of each chunk and keeps what follows it.

    Bytes pass undecoded; `\r`, form feeds and bad UTF-8 are content. The partial line is kept in
    the pieces it came in, so that a long line costs no repeated copying.

    Attributes:
        size: bytes of the partial line.
        total: bytes that were taken.
    """

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self.size = 0
        self.total = 0

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk; return all lines it completed, newlines included, or b""."""
        self.total += len(chunk)
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._partial.append(chunk)
            self.size += len(chunk)
            return b""
        if cut == len(chunk) and not self._partial:
            return chunk
        block = b"".join((*self._partial, chunk[:cut])) if self._partial else chunk[:cut]
        self._partial = [chunk[cut:]] if cut < len(chunk) else []
        self.size = len(chunk) - cut
        return block

    def tail(self, size: int) -> bytes:
        """Return the last `size` bytes of the partial line, or all of a shorter one."""
        pieces: list[bytes] = []
        for piece in reversed(self._partial):
            pieces.append(piece)
            if sum(map(len, pieces)) >= size:
                break
        return b"".join(reversed(pieces))[-size:]

    def peek(self) -> bytes:
        """Return the partial line, or b""."""
        return b"".join(self._partial)

    def flush(self) -> bytes:
        """Return the partial line, or b"", and drop it."""
        partial = self.peek()
        self._partial = []
        self.size = 0
        return partial


class Gap(msgspec.Struct, frozen=True):
    """Lines may be missing between two timestamps (RFC 3339, as the node wrote them)."""

    after: str
    before: str


class Batch(msgspec.Struct):
    """New lines of one container, in order.

    Attributes:
        lines: with their timestamps, without newlines.
        timestamp_width: bytes of the timestamp and its blank, to cut off each line; 0 when the
            lines differ and each has to be split on its own.
        gap: what is missing before the first of them.
        continuation: more of the line that was printed last; it comes before `lines`.
        block: the bytes that `lines` were cut from, newlines included; b"" where those hold more.
    """

    lines: list[bytes]
    timestamp_width: int = 0
    gap: Gap | None = None
    continuation: bytes = b""
    block: bytes = b""

    def messages(self) -> list[bytes]:
        """The lines without their timestamps."""
        if self.timestamp_width:
            cut = self.timestamp_width
            messages = [line[cut:] for line in self.lines]
        else:
            messages = [split(line)[1] for line in self.lines]
        is_short = 0 < len(self.block) <= FRAGMENT_BYTES
        if messages and not is_short and max(map(len, messages)) > FRAGMENT_BYTES:
            pairs = zip(messages, self.timestamps(), strict=True)
            messages = [join_fragments(message, timestamp) for message, timestamp in pairs]
        return messages

    def timestamps(self) -> list[bytes]:
        """The timestamps alone; b"" where a line has none."""
        if self.timestamp_width:
            end = self.timestamp_width - 1
            return [line[:end] for line in self.lines]
        return [split(line)[0] for line in self.lines]
