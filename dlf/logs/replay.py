"""What a reopened stream repeats: dropped by its count, and checked against what was printed.

- Dropped lines are not counted again, so a stream that breaks inside the replay changes nothing.
- kubelet serves the newest file of a rotated log only. If the first repeated line is not the one
  that should come, its file is gone: then the line printed last is looked for instead. If a newer
  line comes first, lines may be missing between the two: a `Gap`.
- A node's clock that was set back is handled the same way: by looking for the line printed last.
- Lines without timestamp at the start of a reopened stream are the rest of a line that began before
  it, and were printed then.

Not promised: two lines that are equal in timestamp and beginning are told apart by their position
only, so a rotation between the two may be taken for none.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dlf.logs.lines import Gap
from dlf.logs.timestamps import common_timestamp_width, split
from dlf.logs.window import IDENTITY_BYTES, PrintedWindow


class ReplayEnd(NamedTuple):
    """Where a replay ended, or that it did not yet.

    Attributes:
        first_new: index of the first new line.
        is_after_last: the line before it is the one that was printed last.
        gap: what may be missing before it.
    """

    first_new: int
    is_after_last: bool = False
    gap: Gap | None = None


class Replay:
    """The repeated lines that are still to come.

    Attributes:
        is_active: there are any.
    """

    __slots__ = ("_checks_first", "_is_searching", "_remaining", "is_active")

    def __init__(self) -> None:
        self.is_active = False
        self._remaining = 0
        self._checks_first = self._is_searching = False

    def begin(self, window: PrintedWindow) -> None:
        """A stream from `window.since` begins."""
        self.is_active = bool(window.last_line)
        self._remaining = window.since_count + window.newest_count
        self._is_searching = self.is_active and window.is_clock_behind
        self._checks_first = self.is_active and not self._is_searching

    def find_new(self, lines: Sequence[bytes], window: PrintedWindow) -> ReplayEnd:
        """Find the first line that was not printed yet; the replay ends before it.

        A line newer than all that were printed ends the replay, too: after a gap.

        Args:
            lines: of the stream, in order, while the replay is active.
            window: what was printed.
        """
        is_counting = not (self._checks_first or self._is_searching)
        if is_counting and 0 < len(lines) < self._remaining and common_timestamp_width(lines):
            self._remaining -= len(lines)  # a batch of repeated lines: no need to look at each
            return ReplayEnd(len(lines))
        for index, line in enumerate(lines):
            timestamp, _ = split(line)
            if not timestamp:
                continue
            if self._checks_first:
                self._checks_first = False
                self._is_searching = line[:IDENTITY_BYTES] != window.first_since
            is_last = line[:IDENTITY_BYTES] == window.last_line
            if not self._is_searching:
                self._remaining -= 1
                if not self._remaining:
                    self.is_active = False
                    gap = None if is_last else _gap(window, timestamp)
                    return ReplayEnd(index + 1, is_last, gap)
            elif is_last:
                self.is_active = False
                return ReplayEnd(index + 1, is_last)
            elif timestamp > window.max_timestamp:
                self.is_active = False
                return ReplayEnd(index, gap=_gap(window, timestamp))
        return ReplayEnd(len(lines))


def _gap(window: PrintedWindow, before: bytes) -> Gap:
    return Gap(window.last_timestamp.decode(), before.decode())
