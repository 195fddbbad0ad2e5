"""The cluster's time, from the newest timestamps seen, for what carries none."""

import datetime

from dlf.diagnose.pod_state import container_statuses
from dlf.manifest.meta import parse_time
from dlf.manifest.observed import Pod


class ServerClock:
    """Maps seconds of our clock to the cluster's time.

    A timestamp in an object is never later than the moment at which we see it. So the newest one,
    relative to our clock, is right up to what passed between both: within a second or so, once a
    container was seen to start or to end.
    """

    def __init__(self) -> None:
        self._start: datetime.datetime | None = None  # when our clock was 0

    def observe(self, pod: Pod, now: float) -> None:
        """Take note of a pod's timestamps.

        Args:
            pod: as it was just seen.
            now: seconds of our clock.
        """
        timestamps = [pod.metadata.creation_timestamp]
        for status in container_statuses(pod):
            timestamps.append((status.state.running and status.state.running.started_at) or "")
            timestamps.append(
                (status.state.terminated and status.state.terminated.finished_at) or ""
            )
        newest = max((time for time in map(parse_time, timestamps) if time), default=None)
        if newest:
            start = newest - datetime.timedelta(seconds=now)
            self._start = max(self._start or start, start)

    def time(self, now: float) -> str:
        """The cluster's time at `now`, RFC 3339 in whole seconds; "" while nothing is known."""
        if self._start is None:
            return ""
        time = self._start + datetime.timedelta(seconds=now)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ")
