"""What the tails of one multiplexer share."""

import asyncio
from collections.abc import Callable

from dlf.logs.log_end import EndBudget
from dlf.logs.log_options import LogOptions
from dlf.logs.node_messages import cause
from dlf.logs.source import LogSource
from dlf.logs.writer import Writer

PARTIAL_LINE_MIN_BYTES = 64 << 10
"""Bytes that every log may keep of a line whose end has not come. What is longer is kept whole up
to `PARTIAL_LINE_MAX_BYTES`, as long as all logs together keep less than
`PARTIAL_LINES_TOTAL_BYTES`; else it is printed in pieces, each a line of its own."""
PARTIAL_LINE_MAX_BYTES = 16 << 20
PARTIAL_LINES_TOTAL_BYTES = 64 << 20


class LogContext:
    """What the tails of one multiplexer share.

    Attributes:
        source: opens logs.
        writer: takes what is printed.
        options: how to print.
        notify: takes messages that are no log lines.
        slots: one for each stream that may be open.
        waiting_tails: how many tails wait for a slot.
        buffered_bytes: bytes of lines whose end has not come, over all tails.
        end_budget: for the last lines of each log.
        last_line_at: when the last line came, in seconds of the event loop.
    """

    def __init__(
        self, source: LogSource, writer: Writer, options: LogOptions, notify: Callable[[str], None]
    ) -> None:
        self.source = source
        self.writer = writer
        self.options = options
        self.notify = notify
        self.slots = asyncio.Semaphore(options.max_log_streams)
        self.waiting_tails = 0
        self.buffered_bytes = 0
        self.end_budget = EndBudget()
        self.last_line_at = 0.0
        self._node_errors: set[tuple[bytes, bool]] = set()  # causes that were reported

    def notify_node_error(self, log: str, message: str, *, follows: bool) -> None:
        """Say once for each cause, whichever log it met first, what a node wrote into a log.

        Args:
            log: name of the log.
            message: the node's words.
            follows: the log was followed; else what there is was asked for.
        """
        what = cause(message.encode()), follows
        if what in self._node_errors:
            return
        self._node_errors.add(what)
        then = (
            "its lines come some seconds late, by asking for them again and again"
            if follows
            else "it is asked for again"
        )
        words = "cannot follow the log" if follows else "cannot read the log"
        self.notify(f"{log}: the node {words} ({message}); {then}. Other logs may have the same")

    def may_buffer(self, size: int) -> bool:
        """Whether a line of which `size` bytes came may wait for its end."""
        return size <= PARTIAL_LINE_MIN_BYTES or (
            size <= PARTIAL_LINE_MAX_BYTES and self.buffered_bytes <= PARTIAL_LINES_TOTAL_BYTES
        )
