"""Which instance of a container a log stream belongs to. A state machine without I/O.

Longer than other files: a quarter is the rules in words, and each of them needs the others' state.

A log is asked for by the names of its pod and container, and these outlive instances: a container
restarts, a pod is created again under its name. The watch may tell of that later than the log does.
So a stream that was opened for one instance may bring the log of the next one. Three rules:

1. The first line. No two logs have the same, as it begins with a timestamp in nanoseconds. When two
   instances' logs seem to have the same first line, the newer instance is the owner, and goes on
   where the older one's reader has come to; the older one's log is read again (`rewind`).
2. The gap. A reopened stream that does not go on where the last one broke may bring another
   instance's log. Its lines are withheld until the pod's status has had time to change, and the pod
   was looked at. If both still name the same instance, the lines count as its own, until rule 1
   says otherwise.
3. The start. What begins in an earlier second than its instance ended in, or the next one was
   started in, is that instance's own log. If a log was gone before anything of it was read, what
   was read for an older instance and is not proved so may be the one that is gone: both are named
   (`doubtful`).

docs/explanation/logs.md draws the states.
"""

import enum
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dlf.logs.instances import Instance, Target, with_unseen
from dlf.logs.log_end import EndBudget, LogEnd
from dlf.logs.position import LogPosition
from dlf.logs.tail_state import TailState
from dlf.logs.timestamps import is_before, split


class Ownership(enum.Enum):
    """What is known of a log that was read as one instance's."""

    UNKNOWN = enum.auto()  # nothing was read yet, or only lines that prove nothing
    WITHHELD = enum.auto()  # a reopened stream has a gap; its lines do not count yet
    PROVED = enum.auto()  # no other instance's log has this first line


class InstanceLog:
    """The log of one instance: what is known of the instance, and how far its log was read.

    Attributes:
        target: the instance.
        state: when to read the log, and whether it is at its end.
        position: how far it was read. Another object takes its place when what was read turns out
            to be another instance's; a stream that was opened for the old one is of no use then.
        end: its last lines.
        ownership: of what was read.
        started: when the instance was started, RFC 3339; "" if not known.
        ended_at: when it ended, in the same form.
        is_doubted: it was said that what was read may be another instance's.
    """

    def __init__(
        self, target: Target, state: TailState, end: LogEnd, started: str, ended_at: str
    ) -> None:
        self.target = target
        self.state = state
        self.position = LogPosition()
        self.end = end
        self.ownership = Ownership.UNKNOWN
        self.started = started
        self.ended_at = ended_at
        self.is_doubted = False
        self._before_gap: LogPosition | None = None

    def update(self, instance: Instance | None) -> bool:
        """Take what the pod's status says of the instance; None: it is not listed any more.

        Returns:
            Whether anything has changed.
        """
        state = self.state
        before = (state.terminated, state.previous, state.deleted)
        if instance is None:
            state.deleted = True
        else:
            state.terminated, state.previous = instance.ended, instance.previous
            self.started = instance.started or self.started
            self.ended_at = instance.ended_at or self.ended_at
        return before != (state.terminated, state.previous, state.deleted)

    def rewind(self) -> None:
        """What was read is another instance's log, from its start or since a gap: go back there."""
        self.position = self._before_gap or LogPosition()
        self.state.reset(opened=self._before_gap is not None)
        self.ownership, self._before_gap = Ownership.UNKNOWN, None

    def is_own(self, newer: "InstanceLog") -> bool:
        """Whether what was read cannot be the log of the next instance, nor of a later one."""
        begun = split(self.position.first_line)[0]
        return is_before(begun, newer.started) or is_before(begun, self.ended_at)

    @property
    def is_gone(self) -> bool:
        """Whether nothing of the log was read, nor can be."""
        return bool(self.state.missing) and not self.position.first_line

    @property
    def has_gap(self) -> bool:
        """Whether only the lines after a gap may be another instance's."""
        return self._before_gap is not None

    def trust(self, position: LogPosition, before_gap: LogPosition) -> None:
        """Take the lines after a gap for this instance's, until another one claims them."""
        self.position = position
        self.ownership, self._before_gap = Ownership.UNKNOWN, before_gap


class Observation(NamedTuple):
    """What follows from a pod's status.

    Attributes:
        changed: logs of whose instances something has become known.
        new: instances that have no log yet, those that came and went unseen included.
        dropped: logs that nobody needs any more.
    """

    changed: list[InstanceLog]
    new: list[Instance]
    dropped: list[InstanceLog]


class ContainerLogs:
    """The logs of all instances that had one pod's and one container's name, oldest first."""

    def __init__(self, budget: EndBudget) -> None:
        self._budget = budget
        self._logs: list[InstanceLog] = []

    def __iter__(self) -> Iterator[InstanceLog]:
        return iter(self._logs)

    @property
    def newest(self) -> InstanceLog:
        """The newest instance's log."""
        return self._logs[-1]

    def observe(self, uid: str, current: Sequence[Instance]) -> Observation:
        """Take the status of the pod that has the name now.

        Args:
            uid: of the pod.
            current: its instances of this container, oldest first.
        """
        dropped = self._drop_unneeded() if current else []
        new = {instance.id: instance for instance in current}
        changed = []
        for log in self._logs:
            if log.target.uid == uid and not current:
                continue
            instance = new.pop(log.target.instance, None)
            if log.update(instance):
                changed.append(log)
        of_pod = [log.target.restart + 1 for log in self._logs if log.target.uid == uid]
        unknown = with_unseen(new.values(), max(of_pod, default=0), uid)
        return Observation(changed, unknown, dropped)

    def pod_deleted(self) -> list[InstanceLog]:
        """No stream can be opened any more; return the logs of which that was not known."""
        return [log for log in self._logs if log.update(None)]

    def add(
        self, target: Target, state: TailState, started: str = "", ended_at: str = ""
    ) -> InstanceLog:
        """A new instance; the log of one that nobody saw is gone."""
        log = InstanceLog(target, state, LogEnd(self._budget), started, ended_at)
        self._logs.append(log)
        if target.unseen:
            state.deleted = True
            state.start_stream()
        return log

    def claim(self, log: InstanceLog) -> InstanceLog | None:
        """Say whose log this is, as soon as its first line is known.

        Returns:
            The older of two logs that were read as different instances' and are the same one: the
            newer has gone on where it was, and it has been rewound. None if there is no other.
        """
        first_line = log.position.first_line
        if not first_line:
            return None
        for other in self._logs:
            if other is not log and other.position.first_line == first_line:
                older, newer = sorted((log, other), key=self._logs.index)
                if newer is log:
                    newer.position, newer.end = older.position, older.end
                    older.end = LogEnd(self._budget)
                older.rewind()
                return older
        log.ownership = Ownership.PROVED
        return None

    def doubtful(self) -> list[InstanceLog]:
        """Logs of which each may be the next one's, as a later one is gone; newest first, once.

        If the log that is gone is what was read for the instance before it, then that one's own is
        lost, unless it is what was read for the one before that, and so on.
        """
        found: list[InstanceLog] = []
        is_lost = False
        for each, newer in reversed(list(pairwise(self._logs))):
            is_lost = (is_lost or newer.is_gone) and not each.is_own(newer)
            if is_lost and each.position.first_line and not each.is_doubted:
                each.is_doubted = True
                found.append(each)
        return found

    def _drop_unneeded(self) -> list[InstanceLog]:
        """Drop logs that are out of reach and done with, if they can be no newer one's.

        Before the news of a restart: by that an older log may turn out to have been a newer one's.
        The newest stays: its last lines may be asked for.
        """
        count = 0
        for index, log in enumerate(self._logs[:-1]):
            if not (log.state.deleted and log.state.finished):
                break
            newer = next(each for each in self._logs[index + 1 :] if not each.target.unseen)
            is_empty = count == index and not log.position.first_line
            if is_empty or log.is_own(newer):
                count = index + 1
        dropped, self._logs = self._logs[:count], self._logs[count:]
        return dropped


class Stream:
    """One open stream, and whether it still brings the log that it was opened for.

    Args:
        log: that it was opened for, at its position.

    Attributes:
        was_previous: the log was asked for as that of the instance before the current one.
    """

    def __init__(self, log: InstanceLog) -> None:
        self._log = log
        self._position = log.position
        self._before = LogPosition(log.position)
        self.was_previous = log.state.previous

    @property
    def is_current(self) -> bool:
        """Whether the stream was opened for the position that the log has now."""
        return self._log.position is self._position

    def withhold(self) -> None:
        """The stream has a gap: its lines do not count, until `confirm`."""
        self._log.position = self._before
        self._log.ownership = Ownership.WITHHELD

    @property
    def may_be_ours(self) -> bool:
        """Whether nothing became known, while lines are withheld, that makes them another's."""
        state = self._log.state
        is_named = not state.deleted and state.previous == self.was_previous
        return is_named and self._log.position is self._before

    def confirm(self) -> None:
        """The withheld lines count: the pod still names this instance."""
        self._log.trust(self._position, self._before)
