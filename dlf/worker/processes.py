"""Starting, signalling and reaping processes, each in a process group of its own.

Every child is reaped, also those that this process inherits: it may be PID 1 of its container.

When the process that was started ends, what is left of its group is stopped: SIGTERM, and SIGKILL
when the grace is over. A number is signalled only while it is certainly that group's: the kernel
gives no number away that still names a group, and one that is empty is forgotten at the next look.
"""

import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NoReturn

from dlf.worker.loop import Loop
from dlf.worker.programs import IGNORED_BY_PYTHON, NOT_RUN, CannotStart, find

_LOOK = 0.05  # seconds between looks whether the rest of a group has ended
_GIVE_UP = 5.0  # seconds; what SIGKILL does not end in that time is in the kernel's hands
LOGIN = (
    *IGNORED_BY_PYTHON,
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
)
"""What sshd resets for a command, whatever it was started with itself."""


class Processes:
    """The children of this process.

    Args:
        loop: waits for their ends.
        grace: seconds between SIGTERM and SIGKILL.
        forwarded: signals that this process passes on, and children must not inherit as blocked.
    """

    def __init__(self, loop: Loop, grace: float, forwarded: Iterable[signal.Signals]) -> None:
        self._loop = loop
        self._grace = grace
        self._forwarded = tuple(forwarded)
        self._leaders: dict[int, Callable[[int], None]] = {}
        self._rest: set[int] = set()
        self._looking = False
        self.reaped = 0
        signal.signal(signal.SIGCHLD, _wake_only)
        loop.on_signal(self.reap)

    def __bool__(self) -> bool:
        """Whether any process, or the rest of a group, still runs."""
        return bool(self._leaders or self._rest)

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        streams: Sequence[int],
        ended: Callable[[int], None],
        reset: Sequence[signal.Signals] = IGNORED_BY_PYTHON,
    ) -> int:
        """Start a program as the leader of a new process group; return the group's number.

        Args:
            argv: its command line; the program is looked for on the PATH of `env`.
            env: its whole environment.
            streams: what becomes its standard input, output and error.
            ended: called with its exit code, 128 + n after signal n.
            reset: signals that get their default effect.

        Raises:
            CannotStart: it is not there or cannot be run.
        """
        program = find(argv[0], env)
        actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
        # A signal must find the group that it is for.
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
            self._leaders[pid] = ended
        except OSError as error:
            raise CannotStart(f"cannot run {argv[0]!r}: {error.strerror}", NOT_RUN) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def fork(self, work: Callable[[], int], ended: Callable[[int], None]) -> int:
        """Do work in a child of this process; return its number.

        Args:
            work: returns the exit code.
            ended: called with it.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, self._forwarded)
        try:
            pid = os.fork()
            if not pid:
                _work(work, self._forwarded, before)
            self._leaders[pid] = ended
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid

    def signal(self, number: int, groups: Iterable[int] | None = None) -> None:
        """Send a signal to groups, by default to all. Safe in a signal handler."""
        for group in list(groups if groups is not None else (*self._leaders, *self._rest)):
            if group in self._leaders or group in self._rest:
                _killpg(group, number)

    def stop(self, groups: Iterable[int], late: Callable[[list[int]], None]) -> None:
        """SIGTERM to the groups, and SIGKILL to what is left of them after the grace.

        Args:
            groups: to stop.
            late: called with those that did not end in time, before they are killed.
        """
        stopped = list(groups)
        self.signal(signal.SIGTERM, stopped)

        def kill() -> None:
            left = [group for group in stopped if group in self._leaders]
            if left:
                late(left)
                self.signal(signal.SIGKILL, left)

        self._loop.later(self._grace, kill)

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
            ended = self._leaders.pop(pid, None)
            if ended is None:
                continue
            if _killpg(pid, 0):
                self._rest.add(pid)
                _killpg(pid, signal.SIGTERM)
                self._loop.later(self._grace, partial(self._kill_rest, pid))
                if not self._looking:
                    self._looking = True
                    self._look()
            ended(exit_code(status))

    def _look(self) -> None:
        """Forget the groups that are empty."""
        self._rest = {group for group in self._rest if _killpg(group, 0)}
        self._looking = bool(self._rest)
        if self._looking:
            self._loop.later(_LOOK, self._look)

    def _kill_rest(self, group: int) -> None:
        if group in self._rest:
            _killpg(group, signal.SIGKILL)
            self._loop.later(_GIVE_UP, lambda: self._rest.discard(group))


def _work(
    work: Callable[[], int], forwarded: Iterable[signal.Signals], mask: Iterable[int]
) -> NoReturn:
    """A forked child's whole life. It must not return into the program that it is a fork of."""
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
    """Whether the group had a process to signal; zombies that others must reap count, too."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _wake_only(_number: int, _frame: object) -> None:
    """The loop is woken by the signal itself."""
