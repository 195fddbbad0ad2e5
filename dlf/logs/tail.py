"""One container instance's log, read to its end however often its stream breaks."""

import asyncio
import copy
import random
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

from dlf.errors import Rejected
from dlf.logs.course import Course, End
from dlf.logs.cursor import Batch, Cursor
from dlf.logs.desk import Desk
from dlf.logs.lines import LineBuffer
from dlf.logs.printer import Printer
from dlf.logs.stamp import split
from dlf.logs.target import Target

PATIENCE = 120.0
"""Seconds of silence after which a running container's stream is opened again. Doubles up to
`LONGEST_PATIENCE` while nothing comes: silence is no fault in itself."""
LONGEST_PATIENCE = 960.0
ENDED_PATIENCE = 5.0
"""Seconds of silence for a container that has ended: its stream should have ended too."""
TURN = 10.0
"""Seconds that a stream may keep its slot while others wait for one."""
HOLD = 5.0
"""Seconds to wait for the watch when a reopened stream does not go on where the last one broke:
the container may have restarted, and the stream be the next instance's."""
KEPT_LINES = 20
_KEPT_BYTES = 512


class _Broken(Exception):
    """The source failed. Why is for the source to know; it may ask to be left alone for a time."""

    def __init__(self, words: str, wait: float) -> None:
        super().__init__(words)
        self.wait = wait


class Tail:
    """Reads one log.

    Args:
        target: which log.
        course: what is known of its container; kept up to date by the owner, who then calls `wake`.
        desk: shared with other tails.
        printer: of this container.
        siblings: the tails of the other instances of the same container.

    Attributes:
        kept: the last lines, with timestamps.
    """

    def __init__(
        self,
        target: Target,
        course: Course,
        desk: Desk,
        printer: Printer,
        siblings: list["Tail"],
    ) -> None:
        self.target = target
        self.course = course
        self.kept: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._desk = desk
        self._printer = printer
        self._siblings = siblings
        self.cursor = Cursor()
        self._lines = LineBuffer()
        self._held = 0
        self._is_recognised = False
        self._changed = asyncio.Event()
        self._timer: asyncio.Timeout | None = None
        self._why_stopped = End.STALLED
        self._why = ""  # words of the last failure
        self._wait = 0.0  # seconds it asked for
        self._reading = False
        self._progress = False  # this stream brought new lines
        self._bytes_came = False
        self._patience = PATIENCE
        self._opened_at = 0.0
        self._heard_at = 0.0

    def wake(self) -> None:
        """What is known of the container has changed."""
        self._changed.set()

    def is_quiet(self, now: float, seconds: float) -> bool:
        """Whether this is the open stream of a running container, silent for that long."""
        return self._reading and not self.course.ended and now - self._heard_at > seconds

    def check(self, now: float) -> None:
        """Stop a stream that is stalled, or had its turn. To be called every second or so."""
        if not self._reading:
            return
        patience = ENDED_PATIENCE if self.course.ended or self.course.deleted else self._patience
        if now - self._heard_at > patience:
            self.stop(End.STALLED)
        elif self._desk.queued and now - self._opened_at > TURN:
            self.stop(End.TURN)

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
            pause = self.course.stop(end, progress=self._progress, why=self._why)
            pause = max(self._wait, pause * random.uniform(0.5, 1.0))  # noqa: S311 jitter
            if pause and not self.course.finished:
                await self._wait_for_change(pause)
        await self._print_rest()
        self._account()

    async def _read_stream(self) -> End:
        self._progress = self._bytes_came = False
        self._wait, self._why = 0.0, ""
        self._why_stopped = End.STALLED
        cursor = self.cursor
        before = copy.copy(cursor)
        was_previous = self.course.previous
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as self._timer, aclosing(self._chunks()) as chunks:
                self._opened_at = self._heard_at = loop.time()
                self._reading = True
                async for chunk in chunks:
                    self._reading, self._bytes_came = False, True
                    if self.cursor is not cursor:
                        return End.WRONG
                    batch = self._take(chunk)
                    if batch is not None:
                        if batch.gap:
                            self.cursor = before
                            if await self._is_replaced(was_previous):
                                return End.WRONG
                            self.cursor = cursor
                        if not self._is_recognised and self._is_anothers():
                            return End.WRONG
                        await self._print(batch)
                    self._heard_at = loop.time()
                    self._reading = True
        except TimeoutError:
            if not self._progress:
                self._patience = min(LONGEST_PATIENCE, self._patience * 2)
            return self._why_stopped
        except Rejected as error:
            self._why = error.message
            return End.REFUSED
        except _Broken as error:
            self._why, self._wait = str(error), error.wait
            return End.BROKEN
        finally:
            self._reading = False
            self._timer = None
        if self.cursor.replaying and self._bytes_came:
            self._why = "the log ends before what was read of it"
            return End.REFUSED
        return End.CLEAN

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        """What the source gives; whatever else than a refusal goes wrong there is `_Broken`."""
        try:
            async with self._desk.source.open_log(
                self.target.namespace,
                self.target.pod,
                self.target.container,
                since_time=self.cursor.since,
                follow=self._desk.options.follow,
                previous=self.course.previous,
            ) as stream:
                self.course.opened = True
                self._lines.take()
                self._account()
                self.cursor.reopen()
                while chunk := await stream.read():
                    yield chunk
        except Rejected:
            raise
        except Exception as error:
            wait = getattr(error, "retry_after", 0.0)
            raise _Broken(f"{type(error).__name__}: {error}", wait) from error

    def _take(self, chunk: bytes) -> Batch | None:
        """New lines of a chunk, or None."""
        lines = self._lines
        block = lines.feed(chunk)
        if lines.size != self._held:
            self._account()
        batch = self.cursor.accept(block) if block else None
        if batch is None and not self._desk.keeps(lines.size):
            batch = self.cursor.accept_piece(lines.take())
            self._account()
        return batch if batch and (batch.lines or batch.rest) else None

    def _account(self) -> None:
        self._desk.held += self._lines.size - self._held
        self._held = self._lines.size

    async def _print(self, batch: Batch) -> None:
        self._progress = True
        self._patience = PATIENCE
        now = asyncio.get_running_loop().time()
        self._desk.heard = now
        if batch.gap:
            self._desk.notice(
                f"{self.target.name}: lines may be missing between {batch.gap.after}"
                f" and {batch.gap.before}: the log was rotated while it could not be read"
            )
        self.kept.extend([line[:_KEPT_BYTES] for line in batch.lines[-KEPT_LINES:]])
        text = self._printer.render(batch, self.cursor.last, now)
        if text:
            await self._desk.writer.write(text)

    async def _print_rest(self) -> None:
        """Print the log's last line if it has no newline; without timestamp it is a remark."""
        rest = self._lines.take()
        if not rest:
            return
        if not self._progress and not split(rest)[0]:
            self._desk.notice(f"{self.target.name}: {rest.decode(errors='replace')}")
            return
        batch = self.cursor.accept(rest + b"\n")
        if batch.lines or batch.rest:
            await self._print(batch)

    def _is_anothers(self) -> bool:
        """Whether the log whose first lines came is read by the tail of another instance too.

        A container that restarts between the watch's word and our request gives us the log of the
        next instance. Then the older instance's tail is wrong, and the newer one goes on from
        where that has come to.
        """
        self._is_recognised = bool(self.cursor.first)
        for other in self._siblings if self._is_recognised else ():
            if other is not self and other.cursor.first == self.cursor.first:
                older, newer = sorted((self, other), key=lambda tail: tail.target.restart)
                if newer is self:
                    newer.cursor = older.cursor
                older.forget_position()
                return True
        return False

    def forget_position(self) -> None:
        """What was read was not this log: read it from its start."""
        self.cursor = Cursor()
        self._is_recognised = False
        self.stop(End.WRONG)

    def stop(self, why: End) -> None:
        """End the open stream, if it waits for bytes; nothing that was read is lost."""
        if self._timer is not None and self._reading:
            self._why_stopped = why
            self._timer.reschedule(asyncio.get_running_loop().time())

    async def _is_replaced(self, was_previous: bool) -> bool:
        """Whether the watch says, now or within HOLD seconds, that this is no more our stream."""
        if self.course.previous == was_previous and not self.course.deleted:
            self._changed.clear()
            await self._wait_for_change(HOLD)
        return self.course.deleted or self.course.previous != was_previous

    async def _wait_for_change(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()
