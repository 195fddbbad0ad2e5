"""Probes of silent streams: rare over all of them, and at the right ones first."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from dlf.logs.stalls import PROBE_INTERVAL_SECONDS, IdleStream, StallProber
from dlf.logs.tail_state import IDLE_TIMEOUT_SECONDS, MAX_IDLE_TIMEOUT_SECONDS

HOUR = 3600.0


class Streams:
    """Streams of which each is as silent as it is told to be, probed for some time.

    Attributes:
        probed: who was probed, and when.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.probed: list[tuple[str, float]] = []
        self._prober = StallProber()
        self._now = 0.0
        self._streams = {name: IdleStream(IDLE_TIMEOUT_SECONDS, 0.0) for name in names}

    def speak(self, name: str) -> None:
        self._streams[name] = IdleStream(IDLE_TIMEOUT_SECONDS, self._now)

    def pass_(self, seconds: float) -> None:
        for now in self._seconds(seconds):
            idle = {k: s for k, s in self._streams.items() if now - s.since > s.idle_timeout}
            if chosen := self._prober.choose(now, idle):
                self.probed.append((chosen, now))
                idle_timeout = min(2 * self._streams[chosen].idle_timeout, MAX_IDLE_TIMEOUT_SECONDS)
                self._streams[chosen] = IdleStream(idle_timeout, now)

    def waited(self, name: str) -> float:
        """Seconds from the stream's last line to the next probe of it."""
        since = self._streams[name].since
        while self._now < since + 100 * HOUR:
            self.pass_(1)
            if self.probed[-1:] == [(name, self._now)]:
                return self._now - since
        raise AssertionError(f"{name} is never probed")

    def _seconds(self, seconds: float) -> Iterator[float]:
        end = self._now + seconds
        while self._now < end:
            self._now += 1
            yield self._now


def names(count: int) -> list[str]:
    return [f"rank {number}" for number in range(count)]


def test_a_single_silent_stream_is_probed_ever_more_seldom() -> None:
    """Silence is no fault in itself."""
    streams = Streams(["rank 0"])
    streams.pass_(HOUR)
    assert [121, 362, 843, 1804] == [round(at) for _, at in streams.probed]


def test_probes_are_as_rare_for_many_streams_as_for_a_few() -> None:
    """Thirty an hour, from the first hour on."""
    streams = Streams(names(1000))
    streams.pass_(5 * HOUR)
    times = [at for _, at in streams.probed]
    assert 149 == len(times)
    assert PROBE_INTERVAL_SECONDS == min(
        after - before for before, after in itertools.pairwise(times)
    )


def test_every_silent_stream_gets_its_turn() -> None:
    """A hundred in three and a half hours, each once."""
    streams = Streams(names(100))
    streams.pass_(3.5 * HOUR)
    assert set(names(100)) == {name for name, _ in streams.probed}
    assert max(Counter(name for name, _ in streams.probed).values()) <= 2


def test_the_one_stream_that_speaks_is_the_first_to_be_probed() -> None:
    """Rank 0 prints, 99 ranks never do: its stall is found in six minutes, at any time."""
    streams = Streams(names(100))
    for _ in range(60):
        streams.pass_(60)
        streams.speak("rank 0")
    assert streams.waited("rank 0") <= IDLE_TIMEOUT_SECONDS + 2 * PROBE_INTERVAL_SECONDS


def test_the_longest_silence_is_probed_among_streams_that_pause() -> None:
    """All ranks print every five minutes, so that most are overdue at any time, and one stalls."""
    streams = Streams(names(100))
    for minute in range(60):
        for number in range(1, 100):
            if number % 5 == minute % 5:
                streams.speak(f"rank {number}")
        streams.pass_(60)
    probed = [at for name, at in streams.probed if name == "rank 0"]
    assert len(probed) >= 2
    assert probed[0] <= 300 + 2 * PROBE_INTERVAL_SECONDS
