"""From the bytes of one log's streams to printed lines."""

from collections import deque

from dlf.logs.batch import Batch
from dlf.logs.cursor import Cursor
from dlf.logs.desk import Desk
from dlf.logs.lines import LineBuffer
from dlf.logs.printer import Printer
from dlf.logs.stamp import split
from dlf.logs.target import Target

KEPT_LINES = 20
_KEPT_BYTES = 512


class Feed:
    """Cuts chunks into lines, drops what was printed before, prints the rest.

    Args:
        target: which log.
        desk: shared with other logs.
        printer: of this container.

    Attributes:
        cursor: the position in the log.
        kept: the last lines, with timestamps, cut to a bearable length.
        progress: the current stream brought new lines.
    """

    def __init__(self, target: Target, desk: Desk, printer: Printer) -> None:
        self.cursor = Cursor()
        self.kept: deque[bytes] = deque(maxlen=KEPT_LINES)
        self.progress = False
        self._target = target
        self._desk = desk
        self._printer = printer
        self._lines = LineBuffer()
        self._held = 0

    def begin(self) -> None:
        """A stream was opened: an unended line comes again."""
        self._lines.take()
        self._account()
        self.cursor.reopen()

    def take(self, chunk: bytes) -> Batch | None:
        """New lines that a chunk completes, or None. They count as printed."""
        lines = self._lines
        block = lines.feed(chunk)
        if lines.size != self._held:
            self._account()
        if block:
            batch = self.cursor.accept(block)
        elif self._desk.keeps(lines.size):
            return None
        else:
            batch = self.cursor.accept_piece(lines.take())
            self._account()
        return batch if batch.lines or batch.rest else None

    async def print(self, batch: Batch, now: float) -> None:
        """Print a batch that `take` returned.

        Raises:
            OutputClosed: nobody reads what is printed.
        """
        self.progress = True
        self._desk.heard = now
        if batch.gap:
            self._desk.notice(
                f"{self._target.name}: lines may be missing between {batch.gap.after}"
                f" and {batch.gap.before}: the log was rotated while it could not be read"
            )
        for line in batch.lines[-KEPT_LINES:]:
            self.kept.append(line[:_KEPT_BYTES])
        text = self._printer.render(batch, self.cursor.last, now)
        if text:
            await self._desk.writer.write(text)

    async def finish(self, now: float) -> None:
        """Print the log's last line if it has no newline; without timestamp it is a remark."""
        rest = self._lines.take()
        self._account()
        if not rest:
            return
        if not self.progress and not split(rest)[0]:
            self._desk.notice(f"{self._target.name}: {rest.decode(errors='replace')}")
            return
        batch = self.cursor.accept(rest + b"\n")
        if batch.lines or batch.rest:
            await self.print(batch, now)

    def _account(self) -> None:
        self._desk.held += self._lines.size - self._held
        self._held = self._lines.size
