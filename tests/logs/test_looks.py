"""Looks at silent streams: rare over all of them, and at the right ones first."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from dlf.logs.course import LONGEST_PATIENCE, PATIENCE
from dlf.logs.looks import INTERVAL, Looks, Silence

HOUR = 3600.0


class Streams:
    """Streams of which each is as silent as it is told to be, looked at for some time.

    Attributes:
        looked: who was looked at, and when.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.looked: list[tuple[str, float]] = []
        self._looks = Looks()
        self._now = 0.0
        self._silences = {name: Silence(PATIENCE, 0.0) for name in names}

    def speak(self, name: str) -> None:
        self._silences[name] = Silence(PATIENCE, self._now)

    def pass_(self, seconds: float) -> None:
        for now in self._seconds(seconds):
            overdue = {k: s for k, s in self._silences.items() if now - s.since > s.patience}
            if chosen := self._looks.choose(now, overdue):
                self.looked.append((chosen, now))
                patience = min(2 * self._silences[chosen].patience, LONGEST_PATIENCE)
                self._silences[chosen] = Silence(patience, now)

    def waited(self, name: str) -> float:
        """Seconds from the stream's last line to the next look at it."""
        since = self._silences[name].since
        while self._now < since + 100 * HOUR:
            self.pass_(1)
            if self.looked[-1:] == [(name, self._now)]:
                return self._now - since
        raise AssertionError(f"{name} is never looked at")

    def _seconds(self, seconds: float) -> Iterator[float]:
        end = self._now + seconds
        while self._now < end:
            self._now += 1
            yield self._now


def names(count: int) -> list[str]:
    return [f"rank {number}" for number in range(count)]


def test_a_single_silent_stream_is_looked_at_ever_more_seldom() -> None:
    """Silence is no fault in itself."""
    streams = Streams(["rank 0"])
    streams.pass_(HOUR)
    assert [121, 362, 843, 1804] == [round(at) for _, at in streams.looked]


def test_looks_are_as_rare_for_many_streams_as_for_a_few() -> None:
    """Thirty an hour, from the first hour on."""
    streams = Streams(names(1000))
    streams.pass_(5 * HOUR)
    times = [at for _, at in streams.looked]
    assert 149 == len(times)
    assert INTERVAL == min(after - before for before, after in itertools.pairwise(times))


def test_every_silent_stream_gets_its_turn() -> None:
    """A hundred in three and a half hours, each once."""
    streams = Streams(names(100))
    streams.pass_(3.5 * HOUR)
    assert set(names(100)) == {name for name, _ in streams.looked}
    assert max(Counter(name for name, _ in streams.looked).values()) <= 2


def test_the_one_stream_that_speaks_is_the_first_to_be_looked_at() -> None:
    """Rank 0 prints, 99 ranks never do: its stall is found in six minutes, at any time."""
    streams = Streams(names(100))
    for _ in range(60):
        streams.pass_(60)
        streams.speak("rank 0")
    assert streams.waited("rank 0") <= PATIENCE + 2 * INTERVAL


def test_the_longest_silence_is_looked_at_among_streams_that_pause() -> None:
    """All ranks print every five minutes, so that most are overdue at any time, and one stalls."""
    streams = Streams(names(100))
    for minute in range(60):
        for number in range(1, 100):
            if number % 5 == minute % 5:
                streams.speak(f"rank {number}")
        streams.pass_(60)
    looked = [at for name, at in streams.looked if name == "rank 0"]
    assert len(looked) >= 2
    assert looked[0] <= 300 + 2 * INTERVAL
