"""Standard output that never stops the event loop, never drops and never tears a line.

A blocked reader must not block dlf, and the descriptor's O_NONBLOCK flag is not ours to set: it is
shared with whoever else has this pipe or terminal. So a pipe or terminal is opened once more, with
a flag of its own; where that is forbidden, each write is preceded by a poll and is no longer than
PIPE_BUF, which a writable pipe takes at once. Pieces are whole lines up to PIPE_BUF in both cases,
which makes them atomic: what others write to the same pipe comes between lines, not inside one.
Regular files and /dev/null take everything at once.

A line that comes alone is written at once. Under load, lines are written in the turn of the event
loop in which they came: one write for all that was readable then, from however many logs.
"""

import asyncio
import errno
import os
import select
import stat
import time
from collections.abc import Callable

from dlf.footer import Footer

PIPE_BUF = select.PIPE_BUF
_SMALL_WRITE_BYTES = 16 << 10
RARE_SECONDS = 0.0005
"""A line that comes so long after the one before is written at once. Others are written together
with all that come in the same turn of the event loop: the turn costs more than their writing."""
HIGH_WATER_BYTES = 1 << 20
"""Bytes waiting for the reader from which `write` waits."""


class OutputClosed(Exception):
    """Standard output cannot be written to any more.

    Args:
        reason: "" when its reader has gone, such as `head` that has enough; else what is wrong.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason or "the reader of standard output has gone")
        self.reason = reason


class Writer:
    """The one way to standard output, for one event loop.

    Args:
        fd: the descriptor; it is not closed.
        on_closed: called once, when the output turns out to be closed.
        footer: what stands below the lines, if they go to a terminal that has one.

    Attributes:
        closed: what ended the output, or None.
        waiting: bytes that were taken and not written yet.
    """

    def __init__(
        self,
        fd: int,
        on_closed: Callable[[OutputClosed], None] = lambda _: None,
        footer: Footer | None = None,
    ) -> None:
        self._fd = fd
        self._own: int | None = None
        self._poll: select.poll | None = None
        self._on_closed = on_closed
        self.closed: OutputClosed | None = None
        self._queue: list[bytes] = []
        self._chunk = b""  # being written
        self._at = 0
        self.waiting = 0
        self._scheduled = False
        self._last_put_at = 0.0
        self._footer = footer
        self._watching = False
        self._room: asyncio.Future[None] | None = None
        self._empty: asyncio.Future[None] | None = None
        mode = os.fstat(fd).st_mode
        self._may_block = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)
        if self._may_block:
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            try:
                self._own = self._fd = os.open(f"/proc/self/fd/{fd}", flags)
            except OSError:
                self._poll = select.poll()
                self._poll.register(fd, select.POLLOUT)

    async def write(self, lines: bytes) -> None:
        """Take whole lines; wait while too much is waiting for the reader.

        The lines are taken at once: a caller that is cancelled while it waits has lost nothing.

        Raises:
            OutputClosed: there is nobody to write to any more.
        """
        self.put(lines)
        while self.waiting > HIGH_WATER_BYTES:
            self._room = self._room or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._room)
            if self.closed:
                raise OutputClosed(self.closed.reason)

    def put(self, lines: bytes) -> None:
        """Take whole lines, or nothing, without waiting: the caller has checked `waiting`.

        Raises:
            OutputClosed: there is nobody to write to any more.
        """
        if self.closed:
            raise OutputClosed(self.closed.reason)
        if not lines:
            return
        if not self._scheduled and len(lines) <= PIPE_BUF and self._is_rare():
            self._queue.append(lines)
            self.waiting += len(lines)
            self._pump()
            return
        if len(lines) < PIPE_BUF < self.waiting + len(lines) and not self._watching:
            self._write_some()  # a whole piece already: it does not wait for the other logs' lines
            if self.closed:
                raise OutputClosed(self.closed.reason)
        self._queue.append(lines)
        self.waiting += len(lines)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _is_rare(self) -> bool:
        """Whether the last line came so long ago that no other is likely to come in this turn."""
        last, self._last_put_at = self._last_put_at, time.monotonic()
        return self._last_put_at - last > RARE_SECONDS

    def preview(self, text: bytes) -> None:
        """Show text below all lines, until others are written; b"" for nothing."""
        if text and self._footer and not self.closed and not self.waiting:
            self._footer.show_preview(text)

    async def wait_drained(self) -> None:
        """Wait until everything was given to the reader, or there is none."""
        if self.waiting and not self.closed:
            self._empty = self._empty or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._empty)

    def flush(self, timeout: float) -> bool:
        """Write what is left, blocking for at most `timeout` seconds; whether all was written."""
        deadline = time.monotonic() + timeout
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        while not self._write_some():
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return False
        return not self.closed

    def close(self) -> None:
        """Let go of the descriptor; what is still waiting is not written."""
        self._watch(False)
        self.closed = self.closed or OutputClosed("closed")
        self._forget()
        if self._own is not None:
            os.close(self._own)
            self._own = None

    def _pump(self) -> None:
        """Write until the reader has enough, then wait for it."""
        done = self._write_some()
        self._scheduled = not done
        self._watch(not done)
        self._wake()

    def _wake(self) -> None:
        if self._room and self.waiting <= HIGH_WATER_BYTES // 2:
            self._room.set_result(None)
            self._room = None
        if self._empty and not self.waiting:
            self._empty.set_result(None)
            self._empty = None

    def _watch(self, wanted: bool) -> None:
        if wanted and not self._watching:
            asyncio.get_running_loop().add_writer(self._fd, self._pump)
        elif self._watching and not wanted:
            asyncio.get_running_loop().remove_writer(self._fd)
        self._watching = wanted

    def _write_some(self) -> bool:
        """Write while the reader takes it; whether nothing is left to write."""
        while not self.closed:
            if self._at == len(self._chunk) and not self._next_chunk():
                if self._footer and self._footer.is_held:
                    self._footer.release()
                return True
            if self._poll and not self._poll.poll(0):
                return False
            try:
                if self._footer:
                    written = self._write_above(self._footer)
                else:
                    written = os.write(self._fd, self._piece())
            except BlockingIOError:
                return False
            except OSError as error:
                gone = error.errno in {errno.EPIPE, errno.ECONNRESET, errno.EIO}
                self._close(OutputClosed("" if gone else f"standard output: {error.strerror}"))
                break
            self._at += written
            self.waiting -= written
        return True

    def _write_above(self, footer: Footer) -> int:
        """Write the next piece in the place of the footer; how many bytes of it."""
        footer.hold()
        erasure = footer.erasure
        written = os.write(self._fd, erasure + self._piece()) - len(erasure)
        if written >= 0:
            footer.erased()
        return max(written, 0)

    def _next_chunk(self) -> bool:
        """Go on to what was taken next, small pieces as one; whether there is anything."""
        self._at = 0
        if self._queue and len(self._queue[0]) >= _SMALL_WRITE_BYTES:
            self._chunk = self._queue.pop(0)
        else:
            self._chunk = b"".join(self._queue)
            self._queue.clear()
        return bool(self._chunk)

    def _piece(self) -> memoryview | bytes:
        """What to write next: whole lines of at most PIPE_BUF bytes, or part of a longer one."""
        chunk, start = self._chunk, self._at
        if len(chunk) - start <= PIPE_BUF or not self._may_block:
            return memoryview(chunk)[start:] if start else chunk
        end = start + PIPE_BUF
        return memoryview(chunk)[start : chunk.rfind(b"\n", start, end) + 1 or end]

    def _close(self, reason: OutputClosed) -> None:
        self.closed = reason
        self._forget()
        self._on_closed(reason)

    def _forget(self) -> None:
        """What is waiting cannot be written any more."""
        self._queue.clear()
        self._chunk, self._at, self.waiting = b"", 0, 0
        self._wake()
