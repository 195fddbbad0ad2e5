"""Starting, signalling and reaping processes, each in a process group of its own.

Every child is reaped, also those that this process inherits: it may be PID 1 of its container.

When the process that was started ends, the rest of its group is stopped: SIGTERM, then SIGKILL
after the grace period. A group is signalled only while its number is certainly its own: the kernel
does not reuse the number of a group that has processes, and empty groups are dropped soon.
"""

import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NoReturn

from dlf.worker.loop import Loop
from dlf.worker.programs import IGNORED_BY_PYTHON, find, refused

_CHECK_SECONDS = 0.05  # between two checks whether leftover groups are empty
_KILL_SECONDS = 5.0  # that SIGKILL may take; then a process is stuck in the kernel
LOGIN_SIGNALS = (
    *IGNORED_BY_PYTHON,
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
)
"""The signals that sshd resets to their default for a command."""


class Processes:
    """The children of this process.

    Args:
        loop: waits for their ends.
        grace: seconds between SIGTERM and SIGKILL.
        forwarded: signals that this process passes on, and children must not inherit as blocked.

    Attributes:
        grace: as given.
        reaped: how many children have ended.
    """

    def __init__(self, loop: Loop, grace: float, forwarded: Iterable[signal.Signals]) -> None:
        self._loop = loop
        self.grace = grace
        self._forwarded = tuple(forwarded)
        self._leaders: dict[int, Callable[[int], None]] = {}
        self._leftover: set[int] = set()
        self._checking = False
        self.reaped = 0
        signal.signal(signal.SIGCHLD, _wake_only)
        loop.on_signal(self.reap)

    def __bool__(self) -> bool:
        """Whether any process, or the rest of a group, still runs."""
        return bool(self._leaders or self._leftover)

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        streams: Sequence[int],
        on_exit: Callable[[int], None],
        reset: Sequence[signal.Signals] = IGNORED_BY_PYTHON,
    ) -> int:
        """Start a program as the leader of a new process group; return the group's number.

        Args:
            argv: its command line; the program is looked for on the PATH of `env`.
            env: its whole environment.
            streams: what becomes its standard input, output and error.
            on_exit: called with its exit code, 128 + n after signal n.
            reset: signals that get their default effect.

        Raises:
            CannotStart: it is not there or cannot be run.
        """
        program = find(argv[0], env)
        actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
        # A signal that comes now is delivered when its group is known.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._forwarded)
        try:
            pid = os.posix_spawn(
                program,
                list(argv),
                env,
                file_actions=actions,
                setpgroup=0,
                setsigmask=before,
                setsigdef=reset,
            )
            self._leaders[pid] = on_exit
        except OSError as error:
            raise refused(argv[0], error) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def fork(self, work: Callable[[], int], on_exit: Callable[[int], None]) -> int:
        """Do work in a child of this process; return its number.

        Args:
            work: returns the exit code.
            on_exit: called with it.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._forwarded)
        try:
            pid = os.fork()
            if not pid:
                _work(work, self._forwarded, before)
            self._leaders[pid] = on_exit
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def signal(self, number: int, groups: Iterable[int] | None = None) -> None:
        """Send a signal to groups, by default to all. Safe in a signal handler."""
        for group in list(groups if groups is not None else (*self._leaders, *self._leftover)):
            if group in self._leaders or group in self._leftover:
                _killpg(group, number)

    def stop(self, groups: Iterable[int], on_late: Callable[[list[int]], None]) -> None:
        """Send SIGTERM to the groups, and SIGKILL to those that are left after the grace period.

        Args:
            groups: to stop.
            on_late: called with those that are left, before they are killed.
        """
        stopped = list(groups)
        self.signal(signal.SIGTERM, stopped)

        def kill() -> None:
            left = [group for group in stopped if group in self._leaders]
            if left:
                on_late(left)
                self.signal(signal.SIGKILL, left)

        self._loop.call_later(self.grace, kill)

    def reap(self) -> None:
        """Take the exit code of every child that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            self.reaped += 1
            on_exit = self._leaders.pop(pid, None)
            if on_exit is None:
                continue
            if _killpg(pid, 0):
                self._leftover.add(pid)
                _killpg(pid, signal.SIGTERM)
                self._loop.call_later(self.grace, partial(self._kill_leftover, pid))
                if not self._checking:
                    self._checking = True
                    self._check_leftover()
            on_exit(exit_code(status))

    def _check_leftover(self) -> None:
        """Drop the groups that are empty."""
        self._leftover = {group for group in self._leftover if _killpg(group, 0)}
        self._checking = bool(self._leftover)
        if self._checking:
            self._loop.call_later(_CHECK_SECONDS, self._check_leftover)

    def _kill_leftover(self, group: int) -> None:
        if group in self._leftover:
            _killpg(group, signal.SIGKILL)
            self._loop.call_later(_KILL_SECONDS, lambda: self._leftover.discard(group))


def _work(
    work: Callable[[], int], forwarded: Iterable[signal.Signals], mask: Iterable[int]
) -> NoReturn:
    """Run in a forked child to its exit: it must never return into the parent's code."""
    code = 70
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)  # shared with the parent
        for number in forwarded:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = work()
    finally:
        os._exit(code)


def exit_code(status: int) -> int:
    """The exit code of a wait status, 128 + n after signal n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _killpg(group: int, number: int) -> bool:
    """Whether the group had a process to signal; zombies of other parents count, too."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _wake_only(_number: int, _frame: object) -> None:
    """Nothing to do: the signal itself wakes the loop."""
