"""One container instance's log, read to its end however often its stream breaks."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from dlf.errors import Rejected
from dlf.logs.context import LogContext
from dlf.logs.lines import Batch
from dlf.logs.ownership import ContainerLogs, InstanceLog, Ownership, Stream
from dlf.logs.pipeline import LinePipeline
from dlf.logs.renderer import LineRenderer
from dlf.logs.source import Broken, LogStream, is_served
from dlf.logs.stalls import IdleStream
from dlf.logs.tail_state import (
    IDLE_TIMEOUT_SECONDS,
    TERMINATED_IDLE_TIMEOUT_SECONDS,
    StreamEnd,
)
from dlf.logs.timestamps import split
from dlf.logs.writer import HIGH_WATER_BYTES

SLOT_SECONDS = 10.0
"""Seconds that a stream may keep its slot while others wait for one."""
GAP_CHECK_SECONDS = 5.0
"""Seconds for the pod's status and the watch when a reopened stream does not go on where the last
one broke: the container may have restarted, and the stream be the next instance's."""


class Tail:
    """Reads one log.

    Args:
        log: which one, and what is known of it; the owner keeps it up to date and calls `wake`.
        logs: of all instances with the same names.
        context: shared with other tails.
        renderer: of this container.
        on_rewound: told of another log of `logs` that has to be read again.
    """

    def __init__(
        self,
        log: InstanceLog,
        logs: ContainerLogs,
        context: LogContext,
        renderer: LineRenderer,
        on_rewound: Callable[[InstanceLog], None],
    ) -> None:
        self.log = log
        self._logs = logs
        self._pipeline = LinePipeline(log, context, renderer)
        self._context = context
        self._on_rewound = on_rewound
        self._changed = asyncio.Event()
        self._timer: asyncio.Timeout | None = None
        self._stop_reason = StreamEnd.STALLED
        self._error = ""  # words of the last failure
        self._retry_after = 0.0  # seconds that it asked for
        self._reading = False  # waiting for bytes; nothing is lost when the stream is closed now
        self._opened_at = 0.0
        self._last_read_at = 0.0
        self._renderer = renderer
        self._start = context.options.since

    def wake(self) -> None:
        """What is known of the container has changed."""
        self._changed.set()

    def is_idle(self, now: float, seconds: float) -> bool:
        """Whether this follows a running container that was silent for that long."""
        state = self.log.state
        is_silent = self._reading and now - self._last_read_at > seconds
        return is_silent and state.follows and not state.expects_end

    def idle_stream(self, now: float) -> IdleStream | None:
        """This open stream, if it is silent for longer than its idle timeout."""
        idle_timeout = self.log.state.idle_timeout(progress=self._pipeline.progress)
        is_idle = self.is_idle(now, idle_timeout)
        return IdleStream(idle_timeout, self._last_read_at) if is_idle else None

    def check(self, now: float) -> None:
        """Stop a stream that does not end, or had its slot for long. To be called every second."""
        state, silence = self.log.state, now - self._last_read_at
        has_stalled = silence > IDLE_TIMEOUT_SECONDS and not state.follows
        if has_stalled or (state.expects_end and silence > TERMINATED_IDLE_TIMEOUT_SECONDS):
            self.stop(StreamEnd.STALLED)
        elif self._context.waiting_tails and now - self._opened_at > SLOT_SECONDS:
            self.stop(StreamEnd.PREEMPTED)

    def preview(self, now: float) -> None:
        """Show what came of an unfinished line, where that is wanted. To be called every second."""
        if self._reading and self.log.ownership is Ownership.PROVED:
            text = self._pipeline.preview(now - self._last_read_at)
            self._context.writer.preview(text)

    def stop(self, reason: StreamEnd) -> None:
        """End the open stream if it waits for bytes."""
        if self._timer is not None and self._reading:
            self._stop_reason = reason
            self._timer.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Read until the log is at its end, or out of reach.

        Raises:
            OutputClosed: nobody reads what is printed.
        """
        if self._context.options.tail is not None and not self.log.position.since:
            await self._find_start(self._context.options.tail)
        while not self.log.state.finished:  # again, if the log is rewound while its end is written
            await self._read_to_end()

    async def _find_start(self, lines: int) -> None:
        """Begin at the time of the last lines that exist now; at the start if there are none."""
        target = self.log.target
        opening = self._context.source.open_log(
            target.namespace,
            target.pod,
            target.container,
            follow=False,
            previous=self.log.state.previous,
            tail_lines=max(lines, 1),
        )
        with suppress(Exception):  # a container that has not begun has no lines yet
            async with opening as stream:
                text = b""
                while b" " not in text and (chunk := await stream.read()):
                    text += chunk
            time = split(text)[0].decode()
            self._start = max(self._start, time)
            self._renderer.start_at(time, inclusive=lines > 0)

    async def _read_to_end(self) -> None:
        while not self.log.state.finished:
            await self._read_once()
        end = self._pipeline.finish(asyncio.get_running_loop().time())
        await self._context.writer.write(end)

    async def _read_once(self) -> None:
        """Read one stream to its end, then pause, unless the log is finished."""
        context, state = self._context, self.log.state
        context.waiting_tails += 1
        try:
            await context.slots.acquire()
        finally:
            context.waiting_tails -= 1
        try:
            if not state.start_stream():
                return
            end = await self._read_stream()
        finally:
            context.slots.release()
        if end is StreamEnd.WRONG_INSTANCE:
            self._pipeline.drop()
        pause = state.end_stream(end, progress=self._pipeline.progress, error=self._error)
        pause = max(self._retry_after, pause * random.uniform(0.5, 1.0))  # noqa: S311 jitter
        if pause and not state.finished:
            await self._wait_for_change(pause)

    async def _read_stream(self) -> StreamEnd:
        self._pipeline.progress = False
        self._retry_after, self._error = 0.0, ""
        self._stop_reason = StreamEnd.STALLED
        self._opened_at = self._last_read_at = asyncio.get_running_loop().time()
        self._reading = True
        stack = AsyncExitStack()
        try:
            async with asyncio.timeout(None) as self._timer:
                stream = Stream(self.log)
                source = await self._open(stack)
                end = await self._read(source, stream)
        except TimeoutError:
            return self._stop_reason
        except Rejected as error:
            self._error = error.message
            return StreamEnd.REFUSED
        except Broken as error:
            self._error, self._retry_after = str(error), error.wait
            return StreamEnd.BROKEN
        finally:
            self._reading = False
            self._timer = None
            with suppress(Exception):  # nothing follows from a stream that does not close well
                await stack.aclose()
        return self._with_node_message(end)

    def _with_node_message(self, end: StreamEnd) -> StreamEnd:
        """How a stream ended that came to a clean end: perhaps the node wrote why into it."""
        message = "" if end is StreamEnd.WRONG_INSTANCE else self._pipeline.take_node_message()
        if not message:
            return end
        follows = self.log.state.follows
        self._context.notice_node_error(self.log.target.name, message, follows=follows)
        self._error = f"the node could not read it: {message}"
        return StreamEnd.NODE_ERROR

    async def _open(self, stack: AsyncExitStack) -> LogStream:
        target = self.log.target
        try:
            stream = await stack.enter_async_context(
                self._context.source.open_log(
                    target.namespace,
                    target.pod,
                    target.container,
                    since_time=self.log.position.since or self._start,
                    follow=self.log.state.follows,
                    previous=self.log.state.previous,
                )
            )
        except Rejected:
            raise
        except Exception as error:
            raise Broken(error) from error
        self.log.state.opened = True
        self._pipeline.begin()
        return stream

    async def _read(self, source: LogStream, stream: Stream) -> StreamEnd:
        """Print what a stream brings until it ends."""
        loop = asyncio.get_running_loop()
        log, pipeline, writer = self.log, self._pipeline, self._context.writer
        bugs: list[Exception] = []

        def consume(chunk: bytes) -> bool:
            """Print at once what needs no check and no waiting."""
            if not stream.is_current or writer.waiting > HIGH_WATER_BYTES:
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
            is_plain = log.ownership is Ownership.PROVED and not log.position.replaying
            try:
                chunk = await source.read(consume if is_plain else None)
            except Exception as error:
                raise Broken(error) from error
            if bugs:
                raise bugs[0]
            if not chunk:
                break
            self._reading = False
            if not stream.is_current:
                return StreamEnd.WRONG_INSTANCE
            batch = pipeline.accept(chunk)
            self._last_read_at = loop.time()
            if batch is not None:
                if not await self._is_ours(stream, batch):
                    return StreamEnd.WRONG_INSTANCE
                await writer.write(pipeline.render(batch, self._last_read_at))
            self._reading = True
        if log.position.replaying:
            self._error = "the log ends before what was read of it"
            return StreamEnd.REFUSED
        return StreamEnd.CLEAN

    async def _is_ours(self, stream: Stream, batch: Batch) -> bool:
        """Whether the stream that brought this batch belongs to this instance, as far as we know.

        The pod's status may lag behind its log, and the watch behind that. So where there is a gap,
        the watch gets some time to tell of another instance, then the pod is looked at.
        """
        if batch.gap:
            stream.withhold()
            if stream.may_be_ours:
                self._changed.clear()
                await self._wait_for_change(GAP_CHECK_SECONDS)
            if not (stream.may_be_ours and await self._is_named(stream) and stream.may_be_ours):
                return False
            stream.confirm()
        if self.log.ownership is not Ownership.PROVED and (older := self._logs.claim(self.log)):
            if older is not self.log:
                self._on_rewound(older)
            return False
        return True

    async def _is_named(self, stream: Stream) -> bool:
        source = self._context.source
        return await is_served(source, self.log.target, previous=stream.was_previous)

    async def _wait_for_change(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()
