"""One container instance's log, read to its end however often its stream breaks."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from dlf.logs.log_context import LogContext
from dlf.logs.ownership import ContainerLogs, InstanceLog, Ownership
from dlf.logs.pipeline import LinePipeline
from dlf.logs.renderer import LineRenderer
from dlf.logs.stalls import IdleStream
from dlf.logs.stream_reader import StreamReader
from dlf.logs.tail_state import (
    IDLE_TIMEOUT_SECONDS,
    TERMINATED_IDLE_TIMEOUT_SECONDS,
    StreamEnd,
)
from dlf.logs.timestamps import split

SLOT_SECONDS = 10.0
"""Seconds that a stream may keep its slot while others wait for one."""


class Tail:
    """Reads one log.

    Args:
        log: which one, and what is known of it; the owner keeps it up to date and calls `wake`.
        logs: of all instances with the same names.
        context: shared with other tails.
        renderer: of this container.
        on_rewound: called with another log of `logs` that has to be read again.
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
        self._pipeline = LinePipeline(log, context, renderer)
        self._reader = StreamReader(log, logs, context, self._pipeline, on_rewound)
        self._context = context
        self._renderer = renderer
        self._start = context.options.since

    def wake(self) -> None:
        """What is known of the container has changed."""
        self._reader.wake()

    def is_idle(self, now: float, seconds: float) -> bool:
        """Whether this follows a running container that was silent for that long."""
        state = self.log.state
        is_silent = self._reader.is_reading and now - self._reader.last_read_at > seconds
        return is_silent and state.follows and not state.expects_end

    def idle_stream(self, now: float) -> IdleStream | None:
        """This open stream, if it is silent for longer than its idle timeout."""
        idle_timeout = self.log.state.idle_timeout(progress=self._pipeline.progress)
        is_idle = self.is_idle(now, idle_timeout)
        return IdleStream(idle_timeout, self._reader.last_read_at) if is_idle else None

    def check(self, now: float) -> None:
        """Stop a stream that does not end, or had its slot for long. To be called every second."""
        state, silence = self.log.state, now - self._reader.last_read_at
        has_stalled = silence > IDLE_TIMEOUT_SECONDS and not state.follows
        if has_stalled or (state.expects_end and silence > TERMINATED_IDLE_TIMEOUT_SECONDS):
            self._reader.stop(StreamEnd.STALLED)
        elif self._context.waiting_tails and now - self._reader.opened_at > SLOT_SECONDS:
            self._reader.stop(StreamEnd.PREEMPTED)

    def preview(self, now: float) -> None:
        """Show what came of an unfinished line, where that is wanted. To be called every second."""
        if self._reader.is_reading and self.log.ownership is Ownership.PROVED:
            text = self._pipeline.preview(now - self._reader.last_read_at)
            self._context.writer.preview(text)

    def stop(self, reason: StreamEnd) -> None:
        """End the open stream if it waits for bytes."""
        self._reader.stop(reason)

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
            end = await self._reader.read(self._start)
        finally:
            context.slots.release()
        if end is StreamEnd.WRONG_INSTANCE:
            self._pipeline.drop()
        pause = state.end_stream(end, progress=self._pipeline.progress, error=self._reader.error)
        pause = max(self._reader.retry_after, pause * random.uniform(0.5, 1.0))  # noqa: S311 jitter
        if pause and not state.finished:
            await self._reader.wait_for_change(pause)
