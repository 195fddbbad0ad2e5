"""Reads one stream of a log after the other: opens it, prints what is new, says how it ended."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from dlf.errors import Rejected
from dlf.logs.lines import Batch
from dlf.logs.log_context import LogContext
from dlf.logs.ownership import ContainerLogs, InstanceLog, Ownership, Stream
from dlf.logs.pipeline import LinePipeline
from dlf.logs.source import LogStream, StreamBroken, is_served
from dlf.logs.tail_state import StreamEnd
from dlf.logs.writer import HIGH_WATER_BYTES

GAP_CHECK_SECONDS = 5.0
"""Seconds for the pod's status and the watch when a reopened stream does not go on where the last
one broke: the container may have restarted, and the stream be the next instance's."""


class StreamReader:
    """Reads the streams of one log.

    Args:
        log: which one.
        logs: of all instances with the same names.
        context: shared with other logs.
        pipeline: of this log.
        on_rewound: called with another log of `logs` that has to be read again.

    Attributes:
        is_reading: waiting for bytes; nothing is lost when the stream is closed now.
        opened_at: when the stream was asked for, in seconds of the event loop.
        last_read_at: when its last bytes came, or `opened_at`.
        error: why it failed, in words of the server or the network; "" if it did not.
        retry_after: seconds that the server asked to wait before the next one.
    """

    def __init__(
        self,
        log: InstanceLog,
        logs: ContainerLogs,
        context: LogContext,
        pipeline: LinePipeline,
        on_rewound: Callable[[InstanceLog], None],
    ) -> None:
        self._log = log
        self._logs = logs
        self._context = context
        self._pipeline = pipeline
        self._on_rewound = on_rewound
        self._changed = asyncio.Event()
        self._timer: asyncio.Timeout | None = None
        self._stop_reason = StreamEnd.STALLED
        self.is_reading = False
        self.opened_at = self.last_read_at = 0.0
        self.error = ""
        self.retry_after = 0.0

    def wake(self) -> None:
        """What is known of the container has changed."""
        self._changed.set()

    async def wait_for_change(self, seconds: float) -> None:
        """Wait until `wake` is called, or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        self._changed.clear()

    def stop(self, reason: StreamEnd) -> None:
        """End the open stream if it waits for bytes."""
        if self._timer is not None and self.is_reading:
            self._stop_reason = reason
            self._timer.reschedule(asyncio.get_running_loop().time())

    async def read(self, start: str) -> StreamEnd:
        """Open a stream and print what is new in it until it ends.

        Args:
            start: `sinceTime` (RFC 3339) of a log of which nothing was read yet, or "".

        Raises:
            OutputClosed: nobody reads what is printed.
        """
        self._pipeline.progress = False
        self.retry_after, self.error = 0.0, ""
        self._stop_reason = StreamEnd.STALLED
        self.opened_at = self.last_read_at = asyncio.get_running_loop().time()
        self.is_reading = True
        stack = AsyncExitStack()
        try:
            async with asyncio.timeout(None) as self._timer:
                stream = Stream(self._log)
                source = await self._open(stack, start)
                end = await self._print(source, stream)
        except TimeoutError:
            return self._stop_reason
        except Rejected as error:
            self.error = error.message
            return StreamEnd.REFUSED
        except StreamBroken as error:
            self.error, self.retry_after = str(error), error.retry_after
            return StreamEnd.BROKEN
        finally:
            self.is_reading = False
            self._timer = None
            with suppress(Exception):  # nothing follows from a stream that does not close well
                await stack.aclose()
        return self._with_node_message(end)

    def _with_node_message(self, end: StreamEnd) -> StreamEnd:
        """How a stream ended that came to a clean end: perhaps the node wrote why into it."""
        message = "" if end is StreamEnd.WRONG_INSTANCE else self._pipeline.take_node_message()
        if not message:
            return end
        follows = self._log.state.follows
        self._context.notify_node_error(self._log.target.name, message, follows=follows)
        self.error = f"the node could not read it: {message}"
        return StreamEnd.NODE_ERROR

    async def _open(self, stack: AsyncExitStack, start: str) -> LogStream:
        target = self._log.target
        try:
            stream = await stack.enter_async_context(
                self._context.source.open_log(
                    target.namespace,
                    target.pod,
                    target.container,
                    since_time=self._log.position.since or start,
                    follow=self._log.state.follows,
                    previous=self._log.state.previous,
                )
            )
        except Rejected:
            raise
        except Exception as error:
            raise StreamBroken(error) from error
        self._log.state.opened = True
        self._pipeline.begin()
        return stream

    async def _print(self, source: LogStream, stream: Stream) -> StreamEnd:
        """Print what a stream brings until it ends."""
        loop = asyncio.get_running_loop()
        log, pipeline, writer = self._log, self._pipeline, self._context.writer
        bugs: list[Exception] = []

        def consume(chunk: bytes) -> bool:
            """Print at once what needs no check and no waiting."""
            if not stream.is_current or writer.waiting > HIGH_WATER_BYTES:
                return False
            try:
                self.last_read_at = now = loop.time()
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
                raise StreamBroken(error) from error
            if bugs:
                raise bugs[0]
            if not chunk:
                break
            self.is_reading = False
            if not stream.is_current:
                return StreamEnd.WRONG_INSTANCE
            batch = pipeline.accept(chunk)
            self.last_read_at = loop.time()
            if batch is not None:
                if not await self._is_ours(stream, batch):
                    return StreamEnd.WRONG_INSTANCE
                await writer.write(pipeline.render(batch, self.last_read_at))
            self.is_reading = True
        if log.position.replaying:
            self.error = "the log ends before what was read of it"
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
                await self.wait_for_change(GAP_CHECK_SECONDS)
            if not (stream.may_be_ours and await self._is_named(stream) and stream.may_be_ours):
                return False
            stream.confirm()
        if self._log.ownership is not Ownership.PROVED and (older := self._logs.claim(self._log)):
            if older is not self._log:
                self._on_rewound(older)
            return False
        return True

    async def _is_named(self, stream: Stream) -> bool:
        source = self._context.source
        return await is_served(source, self._log.target, previous=stream.was_previous)
