"""Which idle stream to probe: to open again, in case it is idle because it has stalled.

No I/O and no clock. A probe is one request, and most streams of a large job are idle by nature. So
probes are rare over all streams together, and alternate between two rules:

1. The stream with the fewest probes since its last line, and of these the one with the latest line.
   Where only one rank prints, its stream is the next to be probed when it stalls.
2. The stream that was idle and unprobed for longest. Where all ranks print now and then, a stalled
   stream stands out by the length of its silence, and the others do not delay its probe.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

PROBE_INTERVAL_SECONDS = 120.0
"""Seconds between two probes: 30 requests an hour, however many streams there are."""

T = TypeVar("T")


class IdleStream(NamedTuple):
    """A stream that is silent for longer than its idle timeout.

    Attributes:
        idle_timeout: seconds; doubled by each probe since the last line.
        since: when the last bytes came, or the stream was opened; seconds of the caller's clock.
    """

    idle_timeout: float
    since: float


class StallProber:
    """Decides when to probe, and which stream."""

    def __init__(self) -> None:
        self._not_before = 0.0
        self._probes = 0

    def choose(self, now: float, idle: Mapping[T, IdleStream]) -> T | None:
        """The stream to open again now, or None.

        Args:
            now: seconds of the caller's clock.
            idle: the streams that are silent for longer than their idle timeout.
        """
        if not idle or now < self._not_before:
            return None
        self._not_before = now + PROBE_INTERVAL_SECONDS
        self._probes += 1
        if self._probes % 2:
            return min(
                idle,
                key=lambda each: (idle[each].idle_timeout, -idle[each].since),
            )
        return min(idle, key=lambda each: idle[each].since)
