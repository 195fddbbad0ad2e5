"""Where in a container's log we are: no line lost, none repeated, however often a stream breaks.

A log is read again from a whole second (`sinceTime` has no fractions), so a reopened stream begins
with lines that were printed before. The server keeps the order of the log and leaves out lines by
their own timestamp, so what it repeats are the printed lines of that second and later, in the
order in which they were printed: it is enough to have counted them.

- stdout and stderr of a container are stamped apart and may be out of order. We start one second
  before the newest line: a line that is late by up to a second is still found.
- Skipped lines are not counted again. A cut inside the repeated lines changes nothing.
- kubelet serves the newest file of a rotated log only. If the first repeated line is not the one
  that should come, its file is gone: then the last printed line is looked for instead. If a newer
  line comes first, lines may be missing between the two, and this is said: a `Gap`.
- A node's clock that was set back is handled the same way: by looking for the last printed line.
- Lines without timestamp are printed when they are new, never counted; at the start of a reopened
  stream they are the rest of a line that began before it, and were printed then.

Not promised: two lines that are equal in timestamp and beginning are told apart by their position
only, so a rotation between the two may be taken for none.
"""

from bisect import bisect_left
from collections.abc import Iterable

from dlf.logs.lines import Batch, Gap
from dlf.logs.timestamps import SECOND_WIDTH, common_timestamp_width, previous_second, split, zone

_IDENTITY = 128  # leading bytes of a line, timestamp included, by which it is recognised


class LogPosition:
    """The position in one container instance's log.

    Attributes:
        last: timestamp of the last printed line, or b"".
        first: the beginning of the log's first line, or of the first one after a gap: what the log
            is recognised by. b"" before.
    """

    def __init__(self) -> None:
        self._newest = b""  # newest whole second of any printed line
        self._floor = b""  # the second before it: where a reopened stream starts
        self._early = 0  # printed lines of the floor second
        self._late = 0  # and of the newest
        self._width = 0  # bytes of a timestamp and its blank
        self._heads = (b"", b"")  # first printed line since the floor, and since the newest second
        self._top = b""  # newest timestamp
        self.last = b""
        self.first = b""
        self._anchor = b""  # the last printed line
        self._skip = 0  # repeated lines still to come
        self._expect_head = False
        self._searching = False
        self._open = 0  # bytes printed of the last line, when its end was not printed yet
        self._read = 0  # bytes of the current line that this stream gave in pieces
        self._printing = False  # whether that line is new, or only its beginning was printed

    @property
    def since(self) -> str:
        """`sinceTime` of the next stream; "" to read from the start."""
        if not self.last:
            return ""
        start = self._floor
        if self._is_behind():
            start = previous_second(self.last[:SECOND_WIDTH]) or start
        return (start + zone(self.last)).decode()

    @property
    def replaying(self) -> bool:
        """Whether lines printed before are still coming."""
        return self._expect_head or self._searching or self._skip > 0

    def reopen(self) -> None:
        """A stream from `since` begins: what it repeats will be dropped."""
        self._skip = self._early + self._late
        self._searching = self._is_behind()
        self._expect_head = bool(self.last) and not self._searching
        self._read = 0

    def accept(self, block: bytes) -> Batch:
        """Take whole lines, each ended by a newline; return those that are new."""
        continuation = b""
        if self._read:
            end = block.index(b"\n")
            continuation = self._more(block[:end])
            self._open = 0 if self._printing else self._open
            self._read = 0
            block = block[end + 1 :]
        lines = block.split(b"\n")
        lines.pop()
        if not self.replaying:
            return self._print(Batch(lines, continuation=continuation))
        new, gap, reached = self._new(lines)
        if reached and self._open:
            continuation = lines[-len(new) - 1][self._open :]
            self._open = 0
        return self._print(Batch(new, gap=gap, continuation=continuation))

    def accept_line(self, block: bytes) -> bytes | None:
        """Take one line of this second or a newer one, stamped like the last: what live lines are.

        Returns:
            Its message, newline included; or None, and nothing is taken, for any other block.
        """
        width = self._width
        if (
            block.find(b" ") != width - 1
            or block.find(b"\n") != len(block) - 1
            or self._read
            or self._skip
            or self._searching
            or self._expect_head
        ):
            return None
        second = block[:SECOND_WIDTH]
        if second != self._newest:
            is_stamp = len(split(block)[0]) == width - 1
            floor = previous_second(second) if is_stamp and second > self._newest else None
            if floor is None:
                return None
            self._advance(second, floor)
            head = block[:-1][:_IDENTITY]
            self._heads = (self._heads[0] or head, head)
        self.last = timestamp = block[: width - 1]
        if timestamp > self._top:
            self._top = timestamp
        self._anchor = block[:-1][:_IDENTITY]
        self._late += 1
        return block[width:]

    def accept_piece(self, piece: bytes) -> Batch:
        """Take the beginning of a line too long to wait for its end, or more of it.

        Beginnings must be longer than any timestamp and the 128 bytes that lines are known by.
        """
        if self._read:
            return Batch([], continuation=self._more(piece))
        if not self.replaying:
            batch, again = self._print(Batch([piece])), 0
        else:
            new, gap, reached = self._new([piece])
            batch, again = self._print(Batch(new, gap=gap)), self._open if reached else 0
        self._printing = bool(batch.lines or again)
        self._open = len(piece) if batch.lines else self._open
        if again:
            batch.continuation = piece[again:]
            self._open = max(again, len(piece))
        self._read = len(piece)
        return batch

    def _more(self, piece: bytes) -> bytes:
        """What is new in a further piece of the current line."""
        start, self._read = self._read, self._read + len(piece)
        if not self._printing:
            return b""
        fresh = piece[max(0, self._open - start) :]
        self._open = max(self._open, self._read)
        return fresh

    def _is_behind(self) -> bool:
        """Whether the clock was set back: the last line is older than the floor."""
        return self.last[:SECOND_WIDTH] < self._floor

    def _new(self, lines: list[bytes]) -> tuple[list[bytes], Gap | None, bool]:
        """Drop repeated lines. The last value says whether the last of them was among `lines`.

        A line newer than all that were printed ends the repetition too: with a gap before it.
        """
        for index, line in enumerate(lines):
            timestamp, _ = split(line)
            if not timestamp:
                continue
            if self._expect_head:
                self._expect_head = False
                self._searching = line[:_IDENTITY] != self._heads[0]
            known = line[:_IDENTITY] == self._anchor
            if not self._searching:
                self._skip -= 1
                if not self._skip:
                    gap = None if known else self._gap_before(timestamp)
                    return lines[index + 1 :], gap, known
            elif known:
                self._searching = False
                self._skip = 0
                return lines[index + 1 :], None, True
            elif timestamp > self._top:
                self._searching = False
                self._skip = 0
                self._open = 0
                return lines[index:], self._gap_before(timestamp), False
        return [], None, False

    def _gap_before(self, timestamp: bytes) -> Gap:
        return Gap(self.last.decode(), timestamp.decode())

    def _print(self, batch: Batch) -> Batch:
        """Count the lines of a batch as printed."""
        lines = batch.lines
        if batch.gap:
            self.first = b""
        if not lines:
            return batch
        batch.timestamp_width = self._width = common_timestamp_width(lines)
        if not (batch.timestamp_width and self._count(lines)):
            batch.timestamp_width = 0
            self._count([line for line in lines if split(line)[0]])
        return batch

    def _count(self, lines: list[bytes]) -> bool:
        """Count lines by their seconds; False, and nothing done, if a timestamp is no time."""
        if not lines:
            return True
        ordered = sorted(lines)
        top = ordered[-1][:SECOND_WIDTH]
        if top > self._newest:
            floor = previous_second(top)
            if floor is None or previous_second(ordered[0][:SECOND_WIDTH]) is None:
                return False
            self._advance(top, floor)
        early = bisect_left(ordered, self._floor)
        late = bisect_left(ordered, self._newest)
        self._early += late - early
        self._late += len(ordered) - late
        head, newest = self._heads
        if not head and early < len(ordered):
            head = _first(lines, self._floor)
        if not newest and late < len(ordered):
            newest = _first(lines, self._newest)
        self._heads = (head, newest)
        self.first = self.first or lines[0][:_IDENTITY]
        self._top = max(self._top, ordered[-1].partition(b" ")[0])
        self.last = lines[-1].partition(b" ")[0]
        self._anchor = lines[-1][:_IDENTITY]
        return True

    def _advance(self, newest: bytes, floor: bytes) -> None:
        """Move the window of counted lines to a newer second."""
        if floor == self._newest:
            self._early, self._late = self._late, 0
            self._heads = (self._heads[1], b"")
        else:
            self._early = self._late = 0
            self._heads = (b"", b"")
        self._newest, self._floor = newest, floor


def _first(lines: Iterable[bytes], since: bytes) -> bytes:
    return next(line for line in lines if line >= since)[:_IDENTITY]
