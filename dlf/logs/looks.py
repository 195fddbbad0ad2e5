"""Which silent stream to open again, in case it is silent because it is dead. No I/O, no clock.

A look is one request, and most of a large job's streams are silent by nature. So looks are rare
over all streams together, and go where they are worth most, by two rules in turn:

1. The stream with the fewest looks since its last line, and of these the one that spoke last. One
   rank speaks and the others do not: when its stream dies, it is the next that is looked at.
2. The stream that was left alone for longest. All ranks speak now and then: the dead one stands
   out by the length of its silence, and is not kept waiting by those that only pause.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

INTERVAL = 120.0
"""Seconds between two looks: 30 requests an hour, however many streams there are."""

T = TypeVar("T")


class Silence(NamedTuple):
    """A silence that lasts longer than it should.

    Attributes:
        patience: seconds it was allowed to last; doubled by each look since the last line.
        since: when the stream was last heard, or opened.
    """

    patience: float
    since: float


class Looks:
    """Decides when to look, and at which stream."""

    def __init__(self) -> None:
        self._not_before = 0.0
        self._turn = 0

    def choose(self, now: float, overdue: Mapping[T, Silence]) -> T | None:
        """The stream to open again now, or None.

        Args:
            now: seconds of the caller's clock.
            overdue: the streams that are silent for too long.
        """
        if not overdue or now < self._not_before:
            return None
        self._not_before = now + INTERVAL
        self._turn += 1
        if self._turn % 2:
            return min(overdue, key=lambda each: (overdue[each].patience, -overdue[each].since))
        return min(overdue, key=lambda each: overdue[each].since)
