"""One container instance's log, read to its end however often its stream breaks."""

import asyncio
import copy
import random
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from dlf.errors import Rejected
from dlf.logs.course import ENDED_PATIENCE, Course, End
from dlf.logs.cursor import Cursor
from dlf.logs.desk import Desk
from dlf.logs.feed import Feed
from dlf.logs.identity import is_served
from dlf.logs.looks import Silence
from dlf.logs.printer import Printer
from dlf.logs.source import Broken, LogStream
from dlf.logs.target import Target
from dlf.logs.writer import HIGH_WATER

TURN = 10.0
"""Seconds that a stream may keep its slot while others wait for one."""
HOLD = 5.0
"""Seconds for the pod's status and the watch when a reopened stream does not go on where the last
one broke: the container may have restarted, and the stream be the next instance's."""


class Tail:
    """Reads one log.

    Args:
        target: which log.
        course: what is known of its container; kept up to date by the owner, who then calls `wake`.
        desk: shared with other tails.
        printer: of this container.
        is_anothers: asked of this tail when it knows the first line of a log: whether that is
            another instance's.

    Attributes:
        feed: from bytes to printed lines.
        is_recognised: the log was found to be no other instance's.
    """

    def __init__(
        self,
        target: Target,
        course: Course,
        desk: Desk,
        printer: Printer,
        is_anothers: Callable[["Tail"], bool],
    ) -> None:
        self.target = target
        self.course = course
        self.feed = Feed(target, desk, printer)
        self._desk = desk
        self._is_anothers = is_anothers
        self.is_recognised = False
        self._sure: Cursor | None = None  # the position before the last gap
        self._changed = asyncio.Event()
        self._timer: asyncio.Timeout | None = None
        self._why_stopped = End.STALLED
        self._why = ""  # words of the last failure
        self._wait = 0.0  # seconds it asked for
        self._reading = False  # waiting for bytes; nothing is lost when the stream is closed now
        self._opened_at = 0.0
        self._heard_at = 0.0

    def wake(self) -> None:
        """What is known of the container has changed."""
        self._changed.set()

    def is_quiet(self, now: float, seconds: float) -> bool:
        """Whether this is the open stream of a running container, silent for that long."""
        return self._reading and not self.course.over and now - self._heard_at > seconds

    def overdue(self, now: float) -> Silence | None:
        """The silence of this open stream of a running container, if it lasts for too long."""
        patience = self.course.patience(progress=self.feed.progress)
        silent = self._reading and not self.course.over and now - self._heard_at > patience
        return Silence(patience, self._heard_at) if silent else None

    def check(self, now: float) -> None:
        """Stop a stream that does not end, or had its turn. To be called every second or so."""
        if not self._reading:
            return
        if self.course.over and now - self._heard_at > ENDED_PATIENCE:
            self.stop(End.STALLED)
        elif self._desk.queued and now - self._opened_at > TURN:
            self.stop(End.TURN)

    def stop(self, why: End) -> None:
        """End the open stream if it waits for bytes."""
        if self._timer is not None and self._reading:
            self._why_stopped = why
            self._timer.reschedule(asyncio.get_running_loop().time())

    def go_back(self) -> None:
        """What was read was not this log, from its start or since a gap: read it from there."""
        self.feed.cursor = self._sure or Cursor()
        self.course.forget(opened=self._sure is not None)
        self.is_recognised, self._sure = False, None
        self.stop(End.WRONG)

    async def run(self) -> None:
        """Read until the log is at its end, or out of reach.

        Raises:
            OutputClosed: nobody reads what is printed.
        """
        while not self.course.finished:
            self._desk.queued += 1
            try:
                await self._desk.slots.acquire()
            finally:
                self._desk.queued -= 1
            try:
                if not self.course.start():
                    break
                end = await self._read_stream()
            finally:
                self._desk.slots.release()
            if end is End.WRONG:
                self.feed.drop()
            pause = self.course.stop(end, progress=self.feed.progress, why=self._why)
            pause = max(self._wait, pause * random.uniform(0.5, 1.0))  # noqa: S311 jitter
            if pause and not self.course.finished:
                await self._wait_for_change(pause)
        await self._desk.writer.write(self.feed.finish(asyncio.get_running_loop().time()))

    async def _read_stream(self) -> End:
        self.feed.progress = False
        self._wait, self._why = 0.0, ""
        self._why_stopped = End.STALLED
        self._opened_at = self._heard_at = asyncio.get_running_loop().time()
        self._reading = True
        stack = AsyncExitStack()
        try:
            async with asyncio.timeout(None) as self._timer:
                cursor = self.feed.cursor
                stream = await self._open(stack)
                return await self._read(stream, cursor)
        except TimeoutError:
            return self._why_stopped
        except Rejected as error:
            self._why = error.message
            return End.REFUSED
        except Broken as error:
            self._why, self._wait = str(error), error.wait
            return End.BROKEN
        finally:
            self._reading = False
            self._timer = None
            with suppress(Exception):  # nothing follows from a stream that does not close well
                await stack.aclose()

    async def _open(self, stack: AsyncExitStack) -> LogStream:
        try:
            stream = await stack.enter_async_context(
                self._desk.source.open_log(
                    self.target.namespace,
                    self.target.pod,
                    self.target.container,
                    since_time=self.feed.cursor.since,
                    follow=self._desk.options.follow,
                    previous=self.course.previous,
                )
            )
        except Rejected:
            raise
        except Exception as error:
            raise Broken(error) from error
        self.course.opened = True
        self.feed.begin()
        return stream

    async def _read(self, stream: LogStream, cursor: Cursor) -> End:
        """Print what a stream, opened for this position, brings until it ends."""
        loop = asyncio.get_running_loop()
        feed, before, was_previous = self.feed, copy.copy(cursor), self.course.previous
        writer = self._desk.writer
        bugs: list[Exception] = []

        def take(chunk: bytes) -> bool:
            """Print at once what needs no thought and no waiting."""
            if feed.cursor is not cursor or writer.waiting > HIGH_WATER:
                return False
            try:
                self._heard_at = now = loop.time()
                text = feed.take_one(chunk, now)
                if text is None:
                    batch = feed.take(chunk)
                    text = feed.render(batch, now) if batch else b""
                writer.put(text)
            except Exception as error:  # not the source's: it must not pass for a broken stream
                bugs.append(error)
                return False
            return True

        while True:
            is_simple = self.is_recognised and not cursor.replaying
            try:
                chunk = await stream.read(take if is_simple else None)
            except Exception as error:
                raise Broken(error) from error
            if bugs:
                raise bugs[0]
            if not chunk:
                break
            self._reading = False
            if feed.cursor is not cursor:
                return End.WRONG
            batch = feed.take(chunk)
            self._heard_at = loop.time()
            if batch is not None:
                if batch.gap:
                    if not await self._is_ours(before, was_previous):
                        return End.WRONG
                    self.is_recognised, self._sure = False, before
                if not self.is_recognised and self._is_wrong():
                    return End.WRONG
                await writer.write(feed.render(batch, self._heard_at))
            self._reading = True
        if cursor.replaying:
            self._why = "the log ends before what was read of it"
            return End.REFUSED
        return End.CLEAN

    async def _is_ours(self, before: Cursor, was_previous: bool) -> bool:
        """Whether a stream with a gap in it is still our instance's.

        The pod's status may lag behind its log, and our watch behind that: the watch gets its time,
        then the pod is looked at. Until then the lines after the gap do not count as printed.
        """
        ahead, self.feed.cursor = self.feed.cursor, before

        def is_open() -> bool:
            known = self.course.deleted or self.course.previous != was_previous
            return not known and self.feed.cursor is before

        if is_open():
            self._changed.clear()
            await self._wait_for_change(HOLD)
        source = self._desk.source
        if is_open() and await is_served(source, self.target, previous=was_previous) and is_open():
            self.feed.cursor = ahead
            return True
        return False

    def _is_wrong(self) -> bool:
        """Whether this log, of which the first lines may have come, is another instance's."""
        is_known = bool(self.feed.cursor.first)
        is_wrong = is_known and self._is_anothers(self)
        self.is_recognised = is_known and not is_wrong
        return is_wrong

    async def _wait_for_change(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()
