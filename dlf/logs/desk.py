"""What the tails of one multiplexer share."""

import asyncio
from collections.abc import Callable

from dlf.logs.log_end import EndBudget
from dlf.logs.options import LogOptions
from dlf.logs.source import LogSource
from dlf.logs.writer import Writer

LONG_LINE = 64 << 10
"""Bytes that every log may keep of a line whose end has not come. What is longer is kept whole up
to `LONGEST_LINE`, as long as all logs together keep less than `LONG_LINES`; else it is printed in
pieces, each a line of its own."""
LONGEST_LINE = 16 << 20
LONG_LINES = 64 << 20


class Desk:
    """What the tails of one multiplexer share.

    Attributes:
        source: opens logs.
        writer: takes what is printed.
        options: how to print.
        notice: told what is not a log line.
        slots: one for each stream that may be open.
        queued: tails that wait for a slot.
        held: bytes of lines whose end has not come, over all tails.
        end_budget: for the last lines of each log.
        heard: when the last line came, in seconds of the event loop.
    """

    def __init__(
        self, source: LogSource, writer: Writer, options: LogOptions, notice: Callable[[str], None]
    ) -> None:
        self.source = source
        self.writer = writer
        self.options = options
        self.notice = notice
        self.slots = asyncio.Semaphore(options.max_log_streams)
        self.queued = 0
        self.held = 0
        self.end_budget = EndBudget()
        self.heard = 0.0

    def keeps(self, size: int) -> bool:
        """Whether a line of which `size` bytes came may wait for its end."""
        return size <= LONG_LINE or (size <= LONGEST_LINE and self.held <= LONG_LINES)
