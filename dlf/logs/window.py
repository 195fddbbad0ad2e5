"""Which lines of a log were printed: counted in a window of its two newest seconds.

A log can only be read again from a whole second (`sinceTime` has no fractions). kubelet keeps the
order of the log and leaves out lines by their own timestamp, so a stream from `since_second`
repeats the printed lines of that second and later, in the order in which they were printed: it is
enough to have counted them.

stdout and stderr of a container get their timestamps separately, and may be out of order. So a
stream starts one second before the newest line: a line that is late by up to a second is found.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from dlf.logs.timestamps import SECOND_WIDTH, previous_second, zone

IDENTITY_BYTES = 128
"""Leading bytes of a line, timestamp included, by which it is recognised."""


class PrintedWindow:
    """The printed lines of the newest second and of the one before it.

    Lines are with their timestamps, cut to `IDENTITY_BYTES`; b"" where there is none yet.

    Attributes:
        newest_second: of any printed line.
        since_second: the second before it.
        since_count: printed lines of `since_second`.
        newest_count: printed lines of `newest_second` (and later ones that were not newest then).
        first_since: the first printed line of `since_second` or later.
        first_newest: the first printed line of `newest_second`.
        max_timestamp: of any printed line.
        last_timestamp: of the line printed last.
        last_line: the line printed last.
        first_line: of the log, or the first one after a gap: what the log is recognised by.
    """

    __slots__ = (
        "first_line",
        "first_newest",
        "first_since",
        "last_line",
        "last_timestamp",
        "max_timestamp",
        "newest_count",
        "newest_second",
        "since_count",
        "since_second",
    )

    def __init__(self) -> None:
        self.newest_second = self.since_second = b""
        self.since_count = self.newest_count = 0
        self.first_since = self.first_newest = b""
        self.max_timestamp = self.last_timestamp = b""
        self.last_line = self.first_line = b""

    @property
    def since(self) -> str:
        """`sinceTime` of the next stream; "" to read from the start."""
        if not self.last_line:
            return ""
        second = self.since_second
        if self.is_clock_behind:
            second = previous_second(self.last_timestamp[:SECOND_WIDTH]) or second
        return (second + zone(self.last_timestamp)).decode()

    @property
    def is_clock_behind(self) -> bool:
        """Whether the node's clock was set back: the last line is older than the window."""
        return self.last_timestamp[:SECOND_WIDTH] < self.since_second

    def count(self, lines: Sequence[bytes]) -> bool:
        """Count printed lines, in order; each begins with a timestamp.

        Returns:
            False, and nothing was counted, if a timestamp is no time.
        """
        if not lines:
            return True
        ordered = sorted(lines)
        newest = ordered[-1][:SECOND_WIDTH]
        if newest > self.newest_second:
            since = previous_second(newest)
            if since is None or previous_second(ordered[0][:SECOND_WIDTH]) is None:
                return False
            self._advance(newest, since)
        since_index = bisect_left(ordered, self.since_second)
        newest_index = bisect_left(ordered, self.newest_second)
        self.since_count += newest_index - since_index
        self.newest_count += len(ordered) - newest_index
        if not self.first_since and since_index < len(ordered):
            self.first_since = _first(lines, self.since_second)
        if not self.first_newest and newest_index < len(ordered):
            self.first_newest = _first(lines, self.newest_second)
        self.first_line = self.first_line or lines[0][:IDENTITY_BYTES]
        self.max_timestamp = max(self.max_timestamp, ordered[-1].partition(b" ")[0])
        self.last_timestamp = lines[-1].partition(b" ")[0]
        self.last_line = lines[-1][:IDENTITY_BYTES]
        return True

    def count_line(self, line: bytes, timestamp: bytes) -> None:
        """Count one printed line, newline included: the same as `count`, and cheaper.

        Args:
            line: with its newline.
            timestamp: that it begins with; valid.
        """
        second = line[:SECOND_WIDTH]
        head = line[:IDENTITY_BYTES] if len(line) > IDENTITY_BYTES else line[:-1]
        if second != self.newest_second:
            since = previous_second(second)
            if since is None or second < self.newest_second:
                self.count([line[:-1]])
                return
            self._advance(second, since)
            self.first_newest = head
            self.first_since = self.first_since or head
        self.newest_count += 1
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.last_timestamp = timestamp
        self.last_line = head

    def _advance(self, newest: bytes, since: bytes) -> None:
        """Move on to a newer second."""
        if since == self.newest_second:
            self.since_count, self.first_since = self.newest_count, self.first_newest
        else:
            self.since_count, self.first_since = 0, b""
        self.newest_count, self.first_newest = 0, b""
        self.newest_second, self.since_second = newest, since


def _first(lines: Iterable[bytes], second: bytes) -> bytes:
    return next(line for line in lines if line >= second)[:IDENTITY_BYTES]
