"""One container instance's log, read to its end however often its stream breaks."""

import asyncio
import copy
import random
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from dlf.errors import Rejected
from dlf.logs.context import LogContext
from dlf.logs.instances import Target
from dlf.logs.pipeline import LinePipeline
from dlf.logs.position import LogPosition
from dlf.logs.renderer import LineRenderer
from dlf.logs.source import Broken, LogStream, is_served
from dlf.logs.stalls import IdleStream
from dlf.logs.tail_state import TERMINATED_IDLE_TIMEOUT_SECONDS, StreamEnd, TailState
from dlf.logs.writer import HIGH_WATER_BYTES

SLOT_SECONDS = 10.0
"""Seconds that a stream may keep its slot while others wait for one."""
GAP_CHECK_SECONDS = 5.0
"""Seconds for the pod's status and the watch when a reopened stream does not go on where the last
one broke: the container may have restarted, and the stream be the next instance's."""


class Tail:
    """Reads one log.

    Args:
        target: which log.
        state: what is known of its container; kept up to date by the owner, who then calls `wake`.
        context: shared with other tails.
        renderer: of this container.
        belongs_to_other_instance: called when this tail has read the first line of a log; returns
            whether that is another instance's log.

    Attributes:
        pipeline: from bytes to printed lines.
        is_recognised: the log was found to be no other instance's.
    """

    def __init__(
        self,
        target: Target,
        state: TailState,
        context: LogContext,
        renderer: LineRenderer,
        belongs_to_other_instance: Callable[["Tail"], bool],
    ) -> None:
        self.target = target
        self.state = state
        self.pipeline = LinePipeline(target, context, renderer)
        self._context = context
        self._belongs_to_other_instance = belongs_to_other_instance
        self.is_recognised = False
        self._sure: LogPosition | None = None  # the position before the last gap
        self._changed = asyncio.Event()
        self._timer: asyncio.Timeout | None = None
        self._why_stopped = StreamEnd.STALLED
        self._why = ""  # words of the last failure
        self._wait = 0.0  # seconds it asked for
        self._reading = False  # waiting for bytes; nothing is lost when the stream is closed now
        self._opened_at = 0.0
        self._last_read_at = 0.0

    def wake(self) -> None:
        """What is known of the container has changed."""
        self._changed.set()

    def is_idle(self, now: float, seconds: float) -> bool:
        """Whether this is the open stream of a running container, silent for that long."""
        return self._reading and not self.state.terminated and now - self._last_read_at > seconds

    def idle_stream(self, now: float) -> IdleStream | None:
        """The silence of this open stream of a running container, if it lasts for too long."""
        idle_timeout = self.state.idle_timeout(progress=self.pipeline.progress)
        silent = (
            self._reading and not self.state.terminated and now - self._last_read_at > idle_timeout
        )
        return IdleStream(idle_timeout, self._last_read_at) if silent else None

    def check(self, now: float) -> None:
        """Stop a stream that does not end, or had its turn. To be called every second or so."""
        if not self._reading:
            return
        if self.state.terminated and now - self._last_read_at > TERMINATED_IDLE_TIMEOUT_SECONDS:
            self.stop(StreamEnd.STALLED)
        elif self._context.waiting_tails and now - self._opened_at > SLOT_SECONDS:
            self.stop(StreamEnd.PREEMPTED)

    def stop(self, why: StreamEnd) -> None:
        """End the open stream if it waits for bytes."""
        if self._timer is not None and self._reading:
            self._why_stopped = why
            self._timer.reschedule(asyncio.get_running_loop().time())

    def rewind(self) -> None:
        """What was read was not this log, from its start or since a gap: read it from there."""
        self.pipeline.position = self._sure or LogPosition()
        self.state.reset(opened=self._sure is not None)
        self.is_recognised, self._sure = False, None
        self.stop(StreamEnd.WRONG_INSTANCE)

    async def run(self) -> None:
        """Read until the log is at its end, or out of reach.

        Raises:
            OutputClosed: nobody reads what is printed.
        """
        while not self.state.finished:
            self._context.waiting_tails += 1
            try:
                await self._context.slots.acquire()
            finally:
                self._context.waiting_tails -= 1
            try:
                if not self.state.start():
                    break
                end = await self._read_stream()
            finally:
                self._context.slots.release()
            if end is StreamEnd.WRONG_INSTANCE:
                self.pipeline.drop()
            pause = self.state.stop(end, progress=self.pipeline.progress, why=self._why)
            pause = max(self._wait, pause * random.uniform(0.5, 1.0))  # noqa: S311 jitter
            if pause and not self.state.finished:
                await self._wait_for_change(pause)
        await self._context.writer.write(self.pipeline.finish(asyncio.get_running_loop().time()))

    async def _read_stream(self) -> StreamEnd:
        self.pipeline.progress = False
        self._wait, self._why = 0.0, ""
        self._why_stopped = StreamEnd.STALLED
        self._opened_at = self._last_read_at = asyncio.get_running_loop().time()
        self._reading = True
        stack = AsyncExitStack()
        try:
            async with asyncio.timeout(None) as self._timer:
                position = self.pipeline.position
                stream = await self._open(stack)
                return await self._read(stream, position)
        except TimeoutError:
            return self._why_stopped
        except Rejected as error:
            self._why = error.message
            return StreamEnd.REFUSED
        except Broken as error:
            self._why, self._wait = str(error), error.wait
            return StreamEnd.BROKEN
        finally:
            self._reading = False
            self._timer = None
            with suppress(Exception):  # nothing follows from a stream that does not close well
                await stack.aclose()

    async def _open(self, stack: AsyncExitStack) -> LogStream:
        try:
            stream = await stack.enter_async_context(
                self._context.source.open_log(
                    self.target.namespace,
                    self.target.pod,
                    self.target.container,
                    since_time=self.pipeline.position.since,
                    follow=self._context.options.follow,
                    previous=self.state.previous,
                )
            )
        except Rejected:
            raise
        except Exception as error:
            raise Broken(error) from error
        self.state.opened = True
        self.pipeline.begin()
        return stream

    async def _read(self, stream: LogStream, position: LogPosition) -> StreamEnd:
        """Print what a stream, opened for this position, brings until it ends."""
        loop = asyncio.get_running_loop()
        pipeline, before, was_previous = self.pipeline, copy.copy(position), self.state.previous
        writer = self._context.writer
        bugs: list[Exception] = []

        def take(chunk: bytes) -> bool:
            """Print at once what needs no thought and no waiting."""
            if pipeline.position is not position or writer.waiting > HIGH_WATER_BYTES:
                return False
            try:
                self._last_read_at = now = loop.time()
                text = pipeline.accept_line(chunk, now)
                if text is None:
                    batch = pipeline.accept(chunk)
                    text = pipeline.render(batch, now) if batch else b""
                writer.put(text)
            except Exception as error:  # not the source's: it must not pass for a broken stream
                bugs.append(error)
                return False
            return True

        while True:
            is_simple = self.is_recognised and not position.replaying
            try:
                chunk = await stream.read(take if is_simple else None)
            except Exception as error:
                raise Broken(error) from error
            if bugs:
                raise bugs[0]
            if not chunk:
                break
            self._reading = False
            if pipeline.position is not position:
                return StreamEnd.WRONG_INSTANCE
            batch = pipeline.accept(chunk)
            self._last_read_at = loop.time()
            if batch is not None:
                if batch.gap:
                    if not await self._is_ours(before, was_previous):
                        return StreamEnd.WRONG_INSTANCE
                    self.is_recognised, self._sure = False, before
                if not self.is_recognised and self._is_wrong():
                    return StreamEnd.WRONG_INSTANCE
                await writer.write(pipeline.render(batch, self._last_read_at))
            self._reading = True
        if position.replaying:
            self._why = "the log ends before what was read of it"
            return StreamEnd.REFUSED
        return StreamEnd.CLEAN

    async def _is_ours(self, before: LogPosition, was_previous: bool) -> bool:
        """Whether a stream with a gap in it is still our instance's.

        The pod's status may lag behind its log, and our watch behind that: the watch gets its time,
        then the pod is looked at. Until then the lines after the gap do not count as printed.
        """
        ahead, self.pipeline.position = self.pipeline.position, before

        def is_open() -> bool:
            known = self.state.deleted or self.state.previous != was_previous
            return not known and self.pipeline.position is before

        if is_open():
            self._changed.clear()
            await self._wait_for_change(GAP_CHECK_SECONDS)
        source = self._context.source
        if is_open() and await is_served(source, self.target, previous=was_previous) and is_open():
            self.pipeline.position = ahead
            return True
        return False

    def _is_wrong(self) -> bool:
        """Whether this log, of which the first lines may have come, is another instance's."""
        is_known = bool(self.pipeline.position.first)
        is_wrong = is_known and self._belongs_to_other_instance(self)
        self.is_recognised = is_known and not is_wrong
        return is_wrong

    async def _wait_for_change(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()
