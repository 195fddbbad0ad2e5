"""Which lines of one container are shown: by their time, and by regular expressions."""

import datetime
from collections.abc import Sequence

from dlf.logs.log_options import LogOptions


class LineFilter:
    """The lines since a time, of those that match `include`, without those that match `exclude`.

    Args:
        options: `since`, `include` and `exclude`.
    """

    def __init__(self, options: LogOptions) -> None:
        self._include, self._exclude = options.include, options.exclude
        self._since: datetime.datetime | None = None
        self._inclusive = True
        self.start_at(options.since)

    @property
    def needs_timestamps(self) -> bool:
        """Whether the next lines have to come with their times."""
        return self._since is not None

    @property
    def is_active(self) -> bool:
        """Whether some further line may be dropped."""
        return bool(self._since or self._include or self._exclude)

    def start_at(self, time: str, *, inclusive: bool = True) -> None:
        """Show no lines before this RFC 3339 time, and none of it if not `inclusive`."""
        if time:
            start = _parsed(time)
            if self._since is None or start >= self._since:
                self._since, self._inclusive = start, inclusive

    def select(self, messages: Sequence[bytes], timestamps: Sequence[bytes]) -> list[int]:
        """Indexes of the messages to print, in order."""
        first = 0
        if self._since is not None:
            while first < len(timestamps) and not self._has_begun(timestamps[first]):
                first += 1
            if first < len(messages):
                self._since = None  # the times of one log never go back
        return [index for index in range(first, len(messages)) if self._matches(messages[index])]

    def _has_begun(self, timestamp: bytes) -> bool:
        if self._since is None or not timestamp:
            return True
        try:
            time = _parsed(timestamp.decode())
        except ValueError:  # a log that is damaged
            return True
        return time > self._since or (self._inclusive and time == self._since)

    def _matches(self, message: bytes) -> bool:
        if self._include and not any(pattern.search(message) for pattern in self._include):
            return False
        return not any(pattern.search(message) for pattern in self._exclude)


def _parsed(time: str) -> datetime.datetime:
    """Nanoseconds are cut to microseconds."""
    return datetime.datetime.fromisoformat(time)
