"""Container logs: lines with times that tests append to, followed as the kubelet lets them be."""

import asyncio
import datetime
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

Row = tuple[str, bytes]
"""RFC 3339 time and content, which has its newline."""


@dataclass(frozen=True)
class Cut:
    """End one follower's stream after so many bytes of its body; not clean: a reset."""

    after: int
    clean: bool = False


@dataclass(eq=False)
class ContainerLog:
    """The log of one instance of a container.

    Attributes:
        rows: (time, bytes with their newline), oldest first.
        ended: the container is done; followers get what there is and then the end.
        silent: followers get nothing more: the stall of a rotated file.
        cuts: one for each of the next followers.
        follow_error: what the node writes where a follower has got all there is, to end the stream.
        read_error: what the node writes in place of the log.
        before: rows of the instances before it, so that its own have later times.
        followers: how many streams are open.
    """

    now: Callable[[], datetime.datetime]
    rows: list[Row] = field(default_factory=list)
    ended: bool = False
    silent: bool = False
    cuts: deque[Cut] = field(default_factory=deque)
    follow_error: bytes = b""
    read_error: bytes = b""
    before: int = 0
    _waiting: set[asyncio.Event] = field(default_factory=set)

    @property
    def followers(self) -> int:
        return len(self._waiting)

    def write(self, *lines: bytes | str, at: str = "") -> None:
        """Append whole lines, given without their newline.

        Args:
            lines: their content.
            at: RFC 3339 time of each; the server's clock when not given.
        """
        for line in lines:
            self.write_raw((line.encode() if isinstance(line, str) else line) + b"\n", at=at)

    def write_raw(self, content: bytes, at: str = "") -> None:
        """Append bytes as one row: a line that has no newline yet, or never gets one."""
        self.rows.append((at or self._stamp(), content))
        self.wake()

    def end(self) -> None:
        """The container is done."""
        self.ended = True
        self.wake()

    def wake(self) -> None:
        """Let followers look again, after an attribute was changed."""
        for event in self._waiting:
            event.set()

    async def follow(self, first: int, until: int | None) -> AsyncIterator[list[Row]]:
        """Rows in batches as they come.

        Args:
            first: index of the first one.
            until: end before this index; None follows until the container is done.
        """
        woken = asyncio.Event()
        self._waiting.add(woken)
        try:
            while True:
                woken.clear()
                if self.silent:
                    await woken.wait()
                elif rows := self.rows[first:until]:
                    first += len(rows)
                    yield rows
                elif self.ended or until is not None:
                    return
                else:
                    await woken.wait()
        finally:
            self._waiting.discard(woken)

    def _stamp(self) -> str:
        # As the kubelet writes them: always nine digits of the second.
        now = self.now()
        row = self.before + len(self.rows)
        return f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond:06d}{row % 1000:03d}Z"


class Logs:
    """All logs of the server: for each container its instances, the newest last."""

    def __init__(self, now: Callable[[], datetime.datetime]) -> None:
        self._now = now
        self._logs: dict[tuple[str, str, str], list[ContainerLog]] = {}

    def of(self, namespace: str, pod: str, container: str) -> ContainerLog:
        """The log of a container's current instance; it starts to exist by this."""
        instances = self._logs.setdefault((namespace, pod, container), [])
        if not instances:
            instances.append(ContainerLog(self._now))
        return instances[-1]

    def restart(self, namespace: str, pod: str, container: str) -> ContainerLog:
        """End the current instance and start the next one."""
        last = self.of(namespace, pod, container)
        last.end()
        log = ContainerLog(self._now, before=last.before + len(last.rows))
        self._logs[namespace, pod, container].append(log)
        return log

    def find(
        self, namespace: str, pod: str, container: str, *, previous: bool
    ) -> ContainerLog | None:
        instances = self._logs.get((namespace, pod, container), [])
        index = 2 if previous else 1
        return instances[-index] if len(instances) >= index else None


def first_row(log: ContainerLog, since: str, tail: int | None) -> int:
    """Where a reader starts. `sinceTime` is cut to whole seconds, and includes that second."""
    first = 0
    if since:
        second = since[:19]
        while first < len(log.rows) and log.rows[first][0][:19] < second:
            first += 1
    return first if tail is None else max(first, len(log.rows) - tail)


def render(rows: list[Row], *, timestamps: bool) -> bytes:
    """The bytes of these rows as a reader gets them."""
    if not timestamps:
        return b"".join(content for _, content in rows)
    return b"".join(b"%b %b" % (stamp.encode(), content) for stamp, content in rows)
