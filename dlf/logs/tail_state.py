"""When to open a log again, and when it is at its end. A state machine without I/O.

A stream ends because its container did, because kubelet cuts every stream after four hours, or
because something between here and there restarted. Its end does not tell which. The rules:

    clean end, container had ended when the stream was opened     the log is at its end
    any end, pod deleted                                          nothing more can be read
    clean end, then pod deleted                                   the log was at its end
    clean end or stall, container has ended since                 open at once, for the rest
    stall, container runs                                         open at once
    preempted                                                     open at once
    clean end of a catch-up, container runs                       open at once, to follow
    node error while following                                    poll: plain requests for a while
    refused or node error MAX_REFUSALS times, container has ended given up
    all else                                                      open after a pause

What was written before is read by a plain request (a catch-up): the API server sends it in far
larger pieces than to a follower. Then the log is followed. A container that has just started has
nothing to catch up with; one that has ended is never followed.
"""

import enum

MAX_REFUSALS = 5
MAX_PAUSE_SECONDS = 30.0
POLL_PAUSE_SECONDS = 2.0
"""Seconds between two polls that bring lines; doubles up to `MAX_PAUSE_SECONDS` while none come."""
POLLS_PER_FOLLOW = 20
"""Polls of a log that could not be followed, before following is tried again."""
_FIRST_PAUSE_SECONDS = 0.25
IDLE_TIMEOUT_SECONDS = 120.0
"""Seconds of silence after which a running container's stream may be opened again. Doubles up to
`MAX_IDLE_TIMEOUT_SECONDS` while nothing comes: silence is no fault in itself."""
MAX_IDLE_TIMEOUT_SECONDS = 4 * 3600.0  # kubelet cuts each stream after four hours anyway
TERMINATED_IDLE_TIMEOUT_SECONDS = 5.0
"""Seconds of silence for a container that has ended: its stream should have ended too."""


class StreamEnd(enum.Enum):
    """How a stream ended."""

    CLEAN = enum.auto()
    BROKEN = enum.auto()
    REFUSED = enum.auto()  # 4xx: the container is not there yet, or not any more
    STALLED = enum.auto()  # we closed it after a silence
    PREEMPTED = enum.auto()  # we closed it for another log's sake
    NODE_ERROR = enum.auto()  # the kubelet wrote an error into the log, and ended it
    WRONG_INSTANCE = enum.auto()  # we closed it: it was another instance's stream


class TailState:
    """What is known of one container instance, and of the streams of its log.

    Attributes:
        terminated: the container has ended, so its log is complete.
        previous: a newer instance has started; the log is asked for with `previous`.
        deleted: no stream can be opened any more: the pod is gone, or newer instances came.
        finished: there is nothing to read any more.
        missing: why the end of the log was not read, or "".
        opened: a stream was open at least once.
        follows: the stream that was started last goes on until its container ends.

    Args:
        terminated: see above.
        previous: see above.
        follow: the log is wanted until the container ends; else what there is.
        catch_up: the container may have written for long before it was first seen.
    """

    def __init__(
        self,
        *,
        terminated: bool,
        previous: bool = False,
        follow: bool = True,
        catch_up: bool = False,
    ) -> None:
        self.terminated = terminated
        self.previous = previous
        self.deleted = False
        self.finished = False
        self.missing = ""
        self.opened = False
        self.follows = False
        self._follow = follow
        self._catches_up = catch_up
        self._polls = 0  # plain requests to make before the log is followed again
        self._final_read = False
        self._was_clean = False
        self._failures = 0
        self._refusals = 0
        self._idle_timeout = IDLE_TIMEOUT_SECONDS

    @property
    def expects_end(self) -> bool:
        """Whether nothing is written any more, so that an open stream should end by itself."""
        return self.terminated or self.deleted

    def idle_timeout(self, *, progress: bool) -> float:
        """Seconds for which an open stream may be silent; `progress`: it brought new lines."""
        return IDLE_TIMEOUT_SECONDS if progress else self._idle_timeout

    def start_stream(self) -> bool:
        """Whether a stream is to be opened now. If not, the log is finished."""
        if self.deleted:
            self._finish("" if self._was_clean else self._gone())
            return False
        self._final_read = self.terminated or not self._follow
        self.follows = not (self._final_read or self._catches_up or self._polls)
        return True

    def end_stream(self, end: StreamEnd, *, progress: bool, error: str = "") -> float:
        """A stream ended.

        Args:
            end: how.
            progress: it brought new lines.
            error: words of the server or the network.

        Returns:
            Seconds to pause before the next stream, before jitter; a change of what is known ends
            the pause. 0 when finished.
        """
        self._idle_timeout = self.idle_timeout(progress=progress)
        if end is StreamEnd.STALLED:
            self._idle_timeout = min(MAX_IDLE_TIMEOUT_SECONDS, self._idle_timeout * 2)
        self._was_clean = end is StreamEnd.CLEAN
        is_refused = end in {StreamEnd.REFUSED, StreamEnd.NODE_ERROR}
        self._refusals = self._refusals + 1 if is_refused else 0
        if end is StreamEnd.CLEAN and (self._final_read or self.deleted):
            return self._finish("")
        if self.deleted:
            return self._finish(self._gone())
        if end is StreamEnd.NODE_ERROR and self.follows:
            self._polls = POLLS_PER_FOLLOW
            return POLL_PAUSE_SECONDS
        if end is StreamEnd.CLEAN and self._polls and not self.follows:
            self._polls -= 1
            self._catches_up = False
            return self._back_off(POLL_PAUSE_SECONDS, progress=progress)
        if end is StreamEnd.CLEAN and not self.follows:
            self._catches_up = False
            return 0.0
        if self._refusals >= MAX_REFUSALS and (self.terminated or not self._follow):
            return self._finish(error)
        if end is StreamEnd.PREEMPTED or (end is StreamEnd.STALLED and not self.terminated):
            return 0.0
        if end in {StreamEnd.CLEAN, StreamEnd.STALLED} and self.terminated and not self._final_read:
            return 0.0
        return self._back_off(_FIRST_PAUSE_SECONDS, progress=progress)

    def _back_off(self, first: float, *, progress: bool) -> float:
        self._failures = 0 if progress else self._failures + 1
        return float(min(MAX_PAUSE_SECONDS, first * 2**self._failures))

    def reset(self, *, opened: bool) -> None:
        """What was read was another instance's log; `opened`: not all of it."""
        self.opened = opened
        self.finished = self._was_clean = False
        self.missing = ""

    def _gone(self) -> str:
        return "gone before its end was read" if self.opened else "gone before it was read"

    def _finish(self, missing: str) -> float:
        self.finished = True
        self.missing = missing
        return 0.0
