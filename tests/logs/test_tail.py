"""One log, where its streams and the news of it cross."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from logs.rig import Output

from dlf.logs.course import Course
from dlf.logs.desk import Desk
from dlf.logs.options import LogOptions
from dlf.logs.printer import Printer
from dlf.logs.tail import Tail
from dlf.logs.target import Target

FIRST = b"2026-01-02T03:04:05.000000001Z first\n"
SECOND = b"2026-01-02T03:04:08.000000001Z second\n"


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
        yield Stream(SECOND) if since_time else Stream(FIRST)


def test_a_stream_opened_for_a_position_that_was_wrong_is_not_read() -> None:
    """The log is found to be another instance's just when the next stream of it is open."""
    source: Any = Source()
    output: Any = Output()

    async def act() -> None:
        desk = Desk(source, output, LogOptions(), print)
        target = Target("p-0", "c", "cri://1")
        printer = Printer(target, desk.options, None, None)
        tail = Tail(target, Course(ended=False), desk, printer, lambda _: False)
        reading = asyncio.create_task(tail.run())
        while len(source.asked) < 2:
            await asyncio.sleep(0.01)
        source.opens.set()
        tail.go_back()
        tail.course.ended = True
        await asyncio.wait_for(reading, 10)

    asyncio.run(act())
    assert ["", "2026-01-02T03:04:04Z", ""] == source.asked
    assert ["first", "first"] == output.of("p-0")
