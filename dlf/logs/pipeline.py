"""From the bytes of one log's streams to printed lines."""

from dlf.logs.lines import Batch, LineBuffer
from dlf.logs.log_context import LogContext
from dlf.logs.node_messages import NodeMessages
from dlf.logs.ownership import InstanceLog
from dlf.logs.preview import LinePreview
from dlf.logs.renderer import LineRenderer
from dlf.logs.timestamps import split


class LinePipeline:
    """Cuts chunks into lines, drops what was printed before, renders what is new.

    Args:
        log: which log.
        context: shared with other logs.
        renderer: of this container.

    Attributes:
        progress: the current stream brought new lines.
    """

    def __init__(self, log: InstanceLog, context: LogContext, renderer: LineRenderer) -> None:
        self.progress = False
        self._log = log
        self._context = context
        self._renderer = renderer
        self._lines = LineBuffer()
        self._node_messages = NodeMessages()
        self._preview = LinePreview()
        self._accounted_bytes = 0

    def begin(self) -> None:
        """A stream was opened: a partial line comes again."""
        self.drop()
        self._log.position.reopen()
        self._node_messages.begin(has_timestamps=bool(self._log.position.last_timestamp))

    def drop(self) -> None:
        """Forget a partial line."""
        self._lines.flush()
        self._account()

    def accept_line(self, chunk: bytes, now: float) -> bytes | None:
        """What to print of a chunk that is one live line, printed plainly; else None.

        The same as `accept` and `render`, at a third of their CPU time.
        """
        if self._lines.size or self._renderer.prefix is None:
            return None
        message = self._log.position.accept_line(chunk)
        if message is None:
            return None
        self.progress = True
        self._context.last_line_at = now
        self._log.end.add_line(chunk)
        return self._renderer.prefix + message

    def accept(self, chunk: bytes) -> Batch | None:
        """New lines that a chunk completes, or None. They count as printed."""
        lines = self._lines
        block = lines.feed(chunk)
        if lines.size != self._accounted_bytes:
            self._account()
        if block:
            if not self._log.position.is_inside_line:
                block = self._node_messages.hold(block)
                if not block:
                    return None
            batch = self._log.position.accept(block)
            if len(batch.lines) == block.count(b"\n"):  # none was dropped
                batch.block = block
        elif self._context.may_buffer(lines.size):
            return None
        else:
            batch = self._log.position.accept_piece(lines.flush())
            self._account()
        return batch if batch.lines or batch.continuation else None

    def render(self, batch: Batch, now: float) -> bytes:
        """What to print of a batch that `accept` returned: whole lines, or b""."""
        self.progress = True
        self._context.last_line_at = now
        if batch.gap:
            self._context.notify(
                f"{self._log.target.name}: lines may be missing between {batch.gap.after}"
                f" and {batch.gap.before}: the log was rotated or begun anew while it was not read"
            )
        if batch.continuation:
            self._log.end.add_line(batch.continuation)
        self._log.end.add(batch.lines, batch.block)
        return self._renderer.render(batch, self._log.position.last_timestamp, now)

    def preview(self, silence: float) -> bytes:
        """What to show now of a line whose end has not come; `silence`: seconds without bytes."""
        if self._log.position.replaying or self._log.position.is_inside_line:
            return b""
        partial = self._preview.take_due(self._lines, silence)
        if len(partial) == self._lines.size:  # from its beginning
            timestamp, partial = split(partial)
            partial = partial if timestamp else b""  # else perhaps not the container's
        return self._renderer.preview(partial)

    def take_node_message(self) -> str:
        """The stream has ended: what the node wrote into it about the log, or ""."""
        is_inside_line = self._log.position.is_inside_line
        partial = b"" if is_inside_line else self._lines.peek()
        message = self._node_messages.end(partial)
        if message and partial and message.endswith(partial.strip()):
            self.drop()
        return message.decode(errors="replace")

    def finish(self, now: float) -> bytes:
        """What to print of a last line without newline."""
        partial = self._lines.flush()
        self._account()
        if not partial:
            return b""
        batch = self._log.position.accept(partial + b"\n")
        return self.render(batch, now) if batch.lines or batch.continuation else b""

    def _account(self) -> None:
        self._context.buffered_bytes += self._lines.size - self._accounted_bytes
        self._accounted_bytes = self._lines.size
