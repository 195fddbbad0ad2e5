"""One log, where its streams and the news of it cross."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from logs.fixture import Output

from dlf.logs.instances import Target
from dlf.logs.log_context import LogContext
from dlf.logs.log_options import LogOptions
from dlf.logs.ownership import ContainerLogs
from dlf.logs.renderer import LineRenderer
from dlf.logs.tail import Tail
from dlf.logs.tail_state import TailState

FIRST = b"2026-01-02T03:04:05.000000001Z first\n"
SECOND_WIDTH = b"2026-01-02T03:04:08.000000001Z second\n"


class Stream:
    """What it holds is there at once; then it ends."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = [*chunks, b""]

    async def read(self, _: Callable[[bytes], bool] | None = None) -> bytes:
        return self._chunks.pop(0)


class Source:
    """A log that the second request finds to be slow."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.opens = asyncio.Event()

    @asynccontextmanager
    async def open_log(self, *_: str, since_time: str, **__: object) -> AsyncIterator[Stream]:
        self.asked.append(since_time)
        if len(self.asked) == 2:
            await self.opens.wait()
        yield Stream(SECOND_WIDTH) if since_time else Stream(FIRST)


def test_a_stream_opened_for_a_position_that_was_wrong_is_not_read() -> None:
    """The log is found to be another instance's just when the next stream of it is open."""
    source: Any = Source()
    output: Any = Output()

    async def act() -> None:
        context = LogContext(source, output, LogOptions(), print)
        target = Target("p-0", "c", "cri://1")
        logs = ContainerLogs(context.end_budget)
        log = logs.add(target, TailState(terminated=False))
        renderer = LineRenderer(target, context.options, None, None)
        tail = Tail(log, logs, context, renderer, print)
        reading = asyncio.create_task(tail.run())
        while len(source.asked) < 2:
            await asyncio.sleep(0.01)
        source.opens.set()
        log.rewind()
        log.state.terminated = True
        await asyncio.wait_for(reading, 10)

    asyncio.run(act())
    assert ["", "2026-01-02T03:04:04Z", ""] == source.asked
    assert ["first", "first"] == output.of("p-0")
