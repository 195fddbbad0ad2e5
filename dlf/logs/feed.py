"""From the bytes of one log's streams to printed lines."""

from dlf.logs.batch import Batch
from dlf.logs.cursor import Cursor
from dlf.logs.desk import Desk
from dlf.logs.lines import LineBuffer
from dlf.logs.log_end import LogEnd
from dlf.logs.printer import Printer
from dlf.logs.stamp import split
from dlf.logs.target import Target


class Feed:
    """Cuts chunks into lines, drops what was printed before, renders the rest.

    Args:
        target: which log.
        desk: shared with other logs.
        printer: of this container.

    Attributes:
        cursor: the position in the log.
        end: the last lines, with timestamps.
        progress: the current stream brought new lines.
    """

    def __init__(self, target: Target, desk: Desk, printer: Printer) -> None:
        self.cursor = Cursor()
        self.end = LogEnd(desk.end_budget)
        self.progress = False
        self._target = target
        self._desk = desk
        self._printer = printer
        self._lines = LineBuffer()
        self._held = 0

    def inherit(self, other: "Feed") -> None:
        """Go on where another feed has come to: what it printed was this log."""
        self.cursor, self.end = other.cursor, other.end
        other.end = LogEnd(self._desk.end_budget)

    def begin(self) -> None:
        """A stream was opened: an unended line comes again."""
        self.drop()
        self.cursor.reopen()

    def drop(self) -> None:
        """Forget an unended line."""
        self._lines.take()
        self._account()

    def take_one(self, chunk: bytes, now: float) -> bytes | None:
        """What to print of a chunk that is one live line, printed plainly; else None.

        The same as `take` and `render`, at a third of their price.
        """
        if self._lines.size or self._printer.prefix is None:
            return None
        message = self.cursor.accept_one(chunk)
        if message is None:
            return None
        self.progress = True
        self._desk.heard = now
        self.end.add_line(chunk)
        return self._printer.prefix + message

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

    def render(self, batch: Batch, now: float) -> bytes:
        """What to print of a batch that `take` returned: whole lines, or b""."""
        self.progress = True
        self._desk.heard = now
        if batch.gap:
            self._desk.notice(
                f"{self._target.name}: lines may be missing between {batch.gap.after}"
                f" and {batch.gap.before}: the log was rotated or begun anew while it was not read"
            )
        if batch.rest:
            self.end.add_line(batch.rest)
        self.end.add(batch.lines)
        return self._printer.render(batch, self.cursor.last, now)

    def finish(self, now: float) -> bytes:
        """What to print of a last line without newline; without timestamp it is a remark."""
        rest = self._lines.take()
        self._account()
        if not rest:
            return b""
        if not self.progress and not split(rest)[0]:
            self._desk.notice(f"{self._target.name}: {rest.decode(errors='replace')}")
            return b""
        batch = self.cursor.accept(rest + b"\n")
        return self.render(batch, now) if batch.lines or batch.rest else b""

    def _account(self) -> None:
        self._desk.held += self._lines.size - self._held
        self._held = self._lines.size
