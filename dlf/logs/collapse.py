"""A line that many pods print at about the same time is printed once, then counted.

The first pod's line is printed at once. The same line from another pod within `WINDOW` seconds is
only counted; when the window is over, one line per repeated message says how many pods repeated
it. A pod that repeats itself is printed: that is its own progress, not an echo.
"""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from dlf.logs.target import Target

WINDOW = 2.0
"""Seconds in which lines count as the same event."""

_MOST = 4096  # different lines remembered at a time
_LONGEST = 4096  # bytes; longer lines are printed, not compared


class _Seen(msgspec.Struct):
    target: Target
    stamp: bytes
    until: float
    others: set[str]


class Repeated(msgspec.Struct, frozen=True):
    """A line to print for a message that other pods repeated: whose line it was, when, the text."""

    target: Target
    stamp: bytes
    text: bytes


class Collapser:
    """Remembers what was printed in the last seconds. Bounded in lines and in their length."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()

    def pick(
        self, target: Target, messages: Sequence[bytes], stamps: Sequence[bytes], now: float
    ) -> list[int]:
        """Indexes of the messages to print, in order; the others are counted.

        Args:
            target: whose messages they are.
            messages: without timestamps, which differ.
            stamps: their timestamps.
            now: seconds of any steady clock.
        """
        picked = []
        for index, message in enumerate(messages):
            seen = self._seen.get(message)
            if seen is None:
                picked.append(index)
                if message and len(message) <= _LONGEST:
                    self._seen[message] = _Seen(target, stamps[index], now + WINDOW, set())
            elif seen.target.pod == target.pod or target.pod in seen.others or seen.until <= now:
                picked.append(index)
            else:
                seen.others.add(target.pod)
        return picked

    def expired(self, now: float) -> list[Repeated]:
        """What others repeated in windows that are over. Forgets it, and the oldest of too many."""
        told = []
        while self._seen:
            message, seen = next(iter(self._seen.items()))
            if seen.until > now and len(self._seen) <= _MOST:
                break
            del self._seen[message]
            if seen.others:
                text = b"[and %d other pods] %b" % (len(seen.others), message)
                told.append(Repeated(seen.target, seen.stamp, text))
        return told
