"""The pods' lines, printed as on Kubernetes."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime

import msgspec

from dlf.footer import Footer
from dlf.logs.collapse import Collapser
from dlf.logs.format import formatter
from dlf.logs.instances import Target
from dlf.logs.lines import Batch, LineBuffer
from dlf.logs.log_end import LogEnd
from dlf.logs.log_files import LogFiles
from dlf.logs.log_options import LogOptions
from dlf.logs.preview import LinePreview
from dlf.logs.renderer import LineRenderer
from dlf.logs.timestamps import common_timestamp_width
from dlf.logs.writer import OutputClosed, Writer

_CLOSE_FLUSH_SECONDS = 3.0
MAX_LINE_BYTES = 16 << 20
"""An unterminated line that is longer is printed in pieces."""
TIME_BYTES = len(b"2026-01-02T15:04:05.123456Z ")
"""The time before each line, and a blank."""
TICK_SECONDS = 1.0
"""Between two looks at repeated and at unfinished lines."""


class _Output:
    """The output of one container so far."""

    def __init__(self, target: Target, renderer: LineRenderer, *, has_times: bool) -> None:
        self.target = target
        self.renderer = renderer
        self.has_times = has_times
        self.lines = LineBuffer()
        self.preview = LinePreview()
        self.last_chunk_at = 0.0


class Console:
    """Prints the output of containers, each line once, as its pod's.

    Args:
        stdout: the descriptor to print to.
        options: how.
        notify: called when standard output or `--log_dir` cannot be written; the job goes on.
        footer: what stands below the lines, if they go to a terminal that has one.
        keep: gets each container's lines, with the time before each; called before they are
            printed.

    Attributes:
        last_chunk_at: when any container printed last, of `time.monotonic`; 0 before that.

    Raises:
        UsageError: `--log_dir` cannot be created.
    """

    def __init__(
        self,
        stdout: int,
        options: LogOptions,
        notify: Callable[[str], None],
        footer: Footer | None = None,
        keep: Callable[[Target, Sequence[bytes]], None] | None = None,
    ) -> None:
        self._options = options
        self._files = LogFiles(options.log_dir, notify) if options.log_dir else None
        self._collapser = Collapser() if options.log_collapse else None
        self.last_chunk_at = 0.0
        self._notify = notify
        self._keep = keep
        self._orders: dict[str, int] = {}  # of each pod, by when it was seen first
        self._outputs: set[_Output] = set()  # of containers that have not ended
        self._writer = Writer(stdout, self._output_closed, footer)

    async def copy(
        self,
        target: Target,
        output: AsyncGenerator[bytes, None],
        last: LogEnd,
        *,
        has_times: bool = False,
    ) -> None:
        """Print all of a container's output; a last line without newline gets one.

        Args:
            target: the container.
            output: in chunks.
            last: gets the lines.
            has_times: each line begins with its time, as `keep` got it.
        """
        order = self._orders.setdefault(target.pod, len(self._orders))
        target = msgspec.structs.replace(target, order=order)
        renderer = LineRenderer(target, self._options, self._files, self._collapser)
        made = _Output(target, renderer, has_times=has_times)
        self._outputs.add(made)
        lines = made.lines
        async with aclosing(output):
            async for chunk in output:
                self.last_chunk_at = made.last_chunk_at = time.monotonic()
                block = lines.feed(chunk)
                if lines.size > MAX_LINE_BYTES:
                    block += lines.flush() + b"\n"
                await self._print(made, block, last)
        self._outputs.discard(made)
        partial = lines.flush()
        await self._print(made, partial + b"\n" if partial else b"", last)

    async def tick(self) -> None:
        """Each second, print the counts of repeated lines, and on terminals unfinished lines."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.preview(time.monotonic())
            await self._print_repeats(time.monotonic())

    def preview(self, now: float) -> None:
        """Show unfinished lines on a terminal; `now` is of `time.monotonic`."""
        for output in self._outputs if self._options.terminal else ():
            text = output.preview.take_due(output.lines, now - output.last_chunk_at)
            self._writer.preview(output.renderer.preview(text))

    async def finish(self) -> None:
        """Wait until all was given to the reader of standard output."""
        await self._print_repeats(float("inf"))
        await self._writer.wait_drained()

    def close(self) -> None:
        """Let go of descriptors and files, after a last chance for a slow reader."""
        self._writer.flush(_CLOSE_FLUSH_SECONDS)
        self._writer.close()
        if self._files:
            self._files.close()

    async def _print(self, output: _Output, block: bytes, last: LogEnd) -> None:
        if not block:
            return
        lines = block[:-1].split(b"\n")
        width = TIME_BYTES
        if output.has_times:
            width = common_timestamp_width(lines)  # 0 for a log that is damaged
        else:
            last.add(lines)
            timestamp = datetime.now(UTC).isoformat(timespec="microseconds")[:-6].encode() + b"Z "
            lines = [timestamp + line for line in lines]
            if self._keep:
                self._keep(output.target, lines)
        text = output.renderer.render(Batch(lines, width), b"", time.monotonic())
        if text:
            await self._write(text)

    async def _print_repeats(self, now: float) -> None:
        for repeated in self._collapser.expired(now) if self._collapser else ():
            line = formatter(repeated.target, self._options)([repeated.text], [repeated.timestamp])
            await self._write(line)

    async def _write(self, text: bytes) -> None:
        with suppress(OutputClosed):  # it was reported once
            await self._writer.write(text)

    def _output_closed(self, closed: OutputClosed) -> None:
        """A reader that has enough, such as `head`, is no fault: the job goes on to its result."""
        if closed.reason:
            self._notify(f"{closed.reason}; the job goes on, unseen")
