"""The position in a log: no line lost, none repeated, however often a stream breaks.

It is made of what was printed (`window`), what a reopened stream repeats of that (`replay`), and
the line whose end has not come (`partial_line`). Lines without timestamp are printed when they are
new, and never counted.
"""

import copy

from dlf.logs.lines import Batch
from dlf.logs.partial_line import PartialLine
from dlf.logs.replay import Replay
from dlf.logs.timestamps import SECOND_WIDTH, common_timestamp_width, split
from dlf.logs.window import PrintedWindow


class LogPosition:
    """The position in one container instance's log."""

    __slots__ = ("_partial", "_replay", "_timestamp_width", "_window")

    def __init__(self, copy_of: "LogPosition | None" = None) -> None:
        parts = copy_of.parts() if copy_of else (PrintedWindow(), Replay(), PartialLine())
        self._window, self._replay, self._partial = parts
        self._timestamp_width = -1  # of the last batch, with the blank; -1 if not all have the same

    def parts(self) -> tuple[PrintedWindow, Replay, PartialLine]:
        """Copies of what the position is made of."""
        return copy.copy(self._window), copy.copy(self._replay), copy.copy(self._partial)

    @property
    def since(self) -> str:
        """`sinceTime` of the next stream; "" to read from the start."""
        return self._window.since

    @property
    def replaying(self) -> bool:
        """Whether lines printed before are still to come."""
        return self._replay.is_active

    @property
    def is_inside_line(self) -> bool:
        """Whether this stream brought the beginning of a line in pieces, and not yet its end."""
        return self._partial.received > 0

    @property
    def last_timestamp(self) -> bytes:
        """Of the line printed last, or b""."""
        return self._window.last_timestamp

    @property
    def first_line(self) -> bytes:
        """The log's first line, or the first one after a gap; its beginning, or b"" before."""
        return self._window.first_line

    def reopen(self) -> None:
        """A stream from `since` begins: what it repeats will be dropped."""
        self._replay.begin(self._window)
        self._partial.received = 0

    def accept(self, block: bytes) -> Batch:
        """Take whole lines, each ended by a newline; return those that are new."""
        continuation = b""
        if self._partial.received:
            end = block.index(b"\n")
            continuation = self._partial.end(block[:end])
            block = block[end + 1 :]
        lines = block.split(b"\n")
        lines.pop()
        if not self._replay.is_active:
            return self._count(Batch(lines, continuation=continuation))
        found = self._replay.find_new(lines, self._window)
        if found.is_after_last and self._partial.printed:
            continuation = lines[found.first_new - 1][self._partial.printed :]
            self._partial.printed = 0
        return self._count(
            Batch(lines[found.first_new :], gap=found.gap, continuation=continuation)
        )

    def accept_line(self, block: bytes) -> bytes | None:
        """Take one whole line whose timestamp has the form of those before: most live lines.

        Returns:
            Its message, newline included; or None, and nothing is taken, for any other block.
        """
        width = self._timestamp_width
        if (
            block.find(b" ") != width - 1
            or block.find(b"\n") != len(block) - 1
            or self._partial.received
            or self._replay.is_active
        ):
            return None
        window = self._window
        if block[:SECOND_WIDTH] != window.newest_second and len(split(block)[0]) != width - 1:
            return None
        window.count_line(block, block[: width - 1])
        return block[width:]

    def accept_piece(self, piece: bytes) -> Batch:
        """Take the beginning of a line too long to wait for its end, or more of it.

        Beginnings must be longer than any timestamp and the bytes that lines are known by.
        """
        if self._partial.received:
            return Batch([], continuation=self._partial.extend(piece))
        if not self._replay.is_active:
            batch, is_last = Batch([piece]), False
        else:
            found = self._replay.find_new([piece], self._window)
            batch = Batch([piece][found.first_new :], gap=found.gap)
            is_last = found.is_after_last and self._partial.printed > 0
        self._count(batch)
        if is_last:
            batch.continuation = self._partial.begin(piece, is_new=True)
        else:
            self._partial.printed = 0 if batch.lines else self._partial.printed
            self._partial.begin(piece, is_new=bool(batch.lines))
        return batch

    def _count(self, batch: Batch) -> Batch:
        """Count the lines of a batch as printed."""
        if batch.gap:
            self._window.first_line = b""
            self._partial.printed = 0
        lines = batch.lines
        if not lines:
            return batch
        width = common_timestamp_width(lines)
        self._timestamp_width = width or -1
        if width and self._window.count(lines):
            batch.timestamp_width = width
        else:
            self._window.count([line for line in lines if split(line)[0]])
        return batch
