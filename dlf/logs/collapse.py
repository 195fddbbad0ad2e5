"""A line that many pods print at about the same time is printed once, then counted.

The first pod's line is printed at once. The same line from another pod within
`COLLAPSE_WINDOW_SECONDS` is only counted; when the window is over, one line per repeated message
says how many pods repeated it. What a pod repeats itself is printed: it is that pod's progress.
"""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from dlf.logs.instances import Target

COLLAPSE_WINDOW_SECONDS = 2.0
"""Seconds in which lines count as the same event."""

_MAX_REMEMBERED_LINES = 4096  # different lines remembered at a time
_MAX_COMPARED_BYTES = 4096  # longer lines are printed, not compared


class _Seen(msgspec.Struct):
    target: Target
    timestamp: bytes
    until: float
    others: set[str]


class RepeatedLine(msgspec.Struct, frozen=True):
    """A line to print for a message that other pods repeated: whose line it was, when, the text."""

    target: Target
    timestamp: bytes
    text: bytes


class Collapser:
    """Remembers what was printed in the last seconds. Bounded in lines and in their length."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()

    def select(
        self, target: Target, messages: Sequence[bytes], timestamps: Sequence[bytes], now: float
    ) -> list[int]:
        """Indexes of the messages to print, in order; the others are counted.

        Args:
            target: whose messages they are.
            messages: without timestamps, which differ.
            timestamps: theirs.
            now: seconds of any steady clock.
        """
        selected = []
        for index, message in enumerate(messages):
            seen = self._seen.get(message)
            if seen is None:
                selected.append(index)
                if message and len(message) <= _MAX_COMPARED_BYTES:
                    self._seen[message] = _Seen(
                        target, timestamps[index], now + COLLAPSE_WINDOW_SECONDS, set()
                    )
            elif seen.target.pod == target.pod or target.pod in seen.others or seen.until <= now:
                selected.append(index)
            else:
                seen.others.add(target.pod)
        return selected

    def expired(self, now: float) -> list[RepeatedLine]:
        """What others repeated in windows that are over. Forgets it, and the oldest of too many."""
        repeated = []
        while self._seen:
            message, seen = next(iter(self._seen.items()))
            if seen.until > now and len(self._seen) <= _MAX_REMEMBERED_LINES:
                break
            del self._seen[message]
            if seen.others:
                text = b"[and %d other pods] %b" % (len(seen.others), message)
                repeated.append(RepeatedLine(seen.target, seen.timestamp, text))
        return repeated
