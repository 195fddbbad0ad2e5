"""Runs the processes of one command as if they were one: output, signals, exit code.

- Output goes on line by line with the prefix `[I] `; one process alone has this one's streams.
- The first that fails stops the others; its exit code is the result.
- Signals go to all. After SIGTERM from outside the processes may take as long as they need, as
  without dlf: its sender, such as the kubelet, has a limit of its own.
"""

import os
import select
import signal
from collections.abc import Callable, Sequence
from functools import partial

from dlf.worker.children import Child
from dlf.worker.loop import READ, Loop
from dlf.worker.prefixed_lines import PrefixedLines
from dlf.worker.processes import Processes
from dlf.worker.programs import CannotStart

FORWARDED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTERM,
    signal.SIGCONT,
    signal.SIGWINCH,
)
_STOP_SIGNALS = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}
_CHUNK_BYTES = 1 << 16  # as much as a pipe holds


class Supervisor:
    """Runs the children to their end.

    Args:
        loop: of this process.
        processes: of this process.
        notify: prints a line of dlf's own.

    Attributes:
        code: the first failure's exit code, or 0.
        stopped: the signal from outside that asked for the end first, or 0.
    """

    def __init__(self, loop: Loop, processes: Processes, notify: Callable[[str], None]) -> None:
        self._loop = loop
        self._processes = processes
        self._notify = notify
        self._running: dict[int, int] = {}  # group -> index
        self._streams: dict[int, tuple[int, PrefixedLines]] = {}  # pipe -> target, lines
        self._starting = False
        self._several = False
        self.code = 0
        self.stopped = 0
        self._ended: Callable[[], None] = loop.stop
        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as SIGHUP under nohup
                signal.signal(number, self._forward)

    def start(self, children: Sequence[Child], ended: Callable[[], None]) -> None:
        """Start them.

        Args:
            children: what to start.
            ended: called when all have ended.

        Raises:
            CannotStart: the first one cannot be started.
        """
        self._ended = ended
        self._several = len(children) > 1
        self._starting = True
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for child in children:
                if not self.stopped:
                    self._start(child, null)
        except CannotStart as error:
            if not self._running:
                raise
            self._notify(str(error))
            self._fail(error.code)
        finally:
            os.close(null)
            self._starting = False
        if not self._running:  # a signal came first
            self.code = self.code or 128 + self.stopped
            ended()

    def drain(self) -> None:
        """Write what is left in the pipes, after all processes have ended."""
        for pipe in list(self._streams):
            while pipe in self._streams and self._copy(pipe):
                pass
            self._close(pipe)

    def _start(self, child: Child, null: int) -> None:
        index = child.number
        ours: list[int] = []
        theirs: list[int] = []
        streams: tuple[int, ...] = (0, 1, 2)
        if self._several:
            for _ in range(2):
                pipe, end = os.pipe2(os.O_CLOEXEC)
                ours.append(pipe)
                theirs.append(end)
            streams = (null, *theirs)
        try:
            group = self._processes.start(
                child.argv, child.env, streams, lambda code: self._end(index, code)
            )
        except CannotStart:
            for pipe in ours:
                os.close(pipe)
            raise
        finally:
            for end in theirs:
                os.close(end)
        self._running[group] = index
        for pipe, target in zip(ours, (1, 2), strict=False):
            os.set_blocking(pipe, False)
            self._streams[pipe] = (target, PrefixedLines(b"[%d] " % index))
            self._loop.watch(pipe, READ, partial(self._copy, pipe))

    def _end(self, index: int, code: int) -> None:
        self._running = {group: at for group, at in self._running.items() if at != index}
        if code:
            if self._several:
                more = f"; stopping the other {len(self._running)}" if self._running else ""
                if code == 128 + signal.SIGKILL and not self.code:  # not by dlf
                    more = f", as when the container is out of memory{more}"
                self._notify(
                    f"process {index} {_describe_exit(code)}{'' if self.stopped else more}"
                )
            self._fail(code)
        if not self._running and not self._starting:
            self._ended()

    def _fail(self, code: int) -> None:
        first = not self.code
        self.code = self.code or code
        if first and not self.stopped:
            self._processes.stop(list(self._running), self._report_late)

    def _report_late(self, groups: list[int]) -> None:
        from dlf.task.scalars import format_duration

        indexes = [str(self._running[group]) for group in groups if group in self._running]
        which = "process" if len(indexes) == 1 else "processes"
        limit = format_duration(self._processes.grace)
        self._notify(
            f"killing {which} {', '.join(indexes)}: not ended within {limit} (--grace) of SIGTERM"
        )

    def _forward(self, number: int, _frame: object) -> None:
        """Forward in the handler itself: the loop may be blocked by a slow reader of the output."""
        self.stopped = self.stopped or (number if number in _STOP_SIGNALS else 0)
        self._processes.signal(number)

    def _copy(self, pipe: int) -> bool:
        """Copy a chunk; False when there is none now, or the pipe has ended."""
        target, lines = self._streams[pipe]
        try:
            chunk = os.read(pipe, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._close(pipe)
            return False
        write(target, lines.feed(chunk))
        return True

    def _close(self, pipe: int) -> None:
        target, lines = self._streams.pop(pipe, (0, None))
        if lines is not None:
            self._loop.unwatch(pipe)
            os.close(pipe)
            write(target, lines.close())


def write(target: int, data: bytes) -> None:
    """Write all of it; if the reader has gone it is dropped, and the training goes on."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            select.select([], [target], [])
        except OSError:
            return


def _describe_exit(code: int) -> str:
    if code <= 128:
        return f"failed with exit code {code}"
    try:
        return f"was killed by {signal.Signals(code - 128).name} (exit code {code})"
    except ValueError:
        return f"failed with exit code {code}"
