"""No process of a job outlives dlf, however dlf ends: also killed, crashed, out of memory.

A fork of dlf, the reaper, waits for the end of a pipe whose other end only dlf holds. When dlf is
gone, or closes the pipe, the reaper kills every process of the job and ends: a crash and a normal
end take the same path. A pod that is just being started holds the pipe, too, up to
its exec, so it is not missed.

A process belongs to the job when its environment holds the job's mark, when it is in a session
that dlf started for a pod, or when it is a child of one that belongs. That finds what left its
process group, called setsid, or was orphaned by a double fork. What none of the three holds for is
not found: an orphan that has a session of its own and has cleared its environment.
"""

import os
import shutil
import signal
import struct
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec

MARK_VARIABLE = "DLF_LOCAL_JOB"
"""The environment variable that carries the mark; a job within a job carries both."""

# A process in an uninterruptible system call dies only after that call.
_KILL_TIMEOUT_SECONDS = 10.0
_POLL_SECONDS = 0.005
_EXEC_SECONDS = 0.5
"""For processes between two programs, all together: those of others may be stopped there, too."""
_SESSION = struct.Struct("=q")  # a session that was started, or minus one that has ended


class Reaper:
    """Ends the processes of a job when this process ends.

    Start it before there are threads: it is a fork.

    Args:
        mark: text that is in no other process's environment, such as 16 random bytes.
        scratch: directory that is removed last.
    """

    def __init__(self, mark: str, scratch: str) -> None:
        self._mark = mark
        self._sessions: set[int] = set()
        source, self._pipe = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            _reap(source, mark, scratch)
        os.close(source)

    def started(self, session: int) -> None:
        """A pod runs in this session."""
        self._sessions.add(session)
        self._send(session)

    def ended(self, session: int) -> None:
        """Nothing runs in this session any more: its number may become someone else's."""
        self._sessions.discard(session)
        self._send(-session)

    def kill(self) -> None:
        """Kill every process of the job; return when they are gone, within seconds."""
        kill(self._mark, set(self._sessions))

    def close(self) -> None:
        """Kill every process of the job, and let the reaper end."""
        os.close(self._pipe)
        os.waitpid(self._pid, 0)

    def _send(self, number: int) -> None:
        with suppress(BrokenPipeError):  # the reaper was killed
            os.write(self._pipe, _SESSION.pack(number))


class ProcessInfo(msgspec.Struct, frozen=True):
    """One process in /proc."""

    pid: int
    parent: int
    session: int
    environ: bytes


def kill(mark: str, sessions: Collection[int]) -> None:
    """Kill the processes with the mark, of the sessions, and theirs, until none is left.

    Those that a system call keeps alive are given up after seconds.
    """
    began = time.monotonic()
    deadline, patience = began + _KILL_TIMEOUT_SECONDS, began + _EXEC_SECONDS
    while pids := job_processes(mark.encode(), sessions, _snapshot(patience)):
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_POLL_SECONDS)


def running(mark: str, sessions: Collection[int]) -> set[int]:
    """The processes with the mark, of the sessions, or below them that run."""
    patience = time.monotonic() + _EXEC_SECONDS
    return job_processes(mark.encode(), sessions, _snapshot(patience))


def job_processes(
    mark: bytes, sessions: Collection[int], processes: Iterable[ProcessInfo]
) -> set[int]:
    """Those with the mark, in one of the sessions, or below them; never this process."""
    seen = list(processes)
    found = {each.pid for each in seen if mark in each.environ or each.session in sessions}
    size = 0
    while size < len(found):
        size = len(found)
        found |= {each.pid for each in seen if each.parent in found}
    return found - {os.getpid()}


def _snapshot(patience: float) -> Iterator[ProcessInfo]:
    """The processes whose environment may be read: this user's, or all for root.

    Args:
        patience: until when one that becomes another program is waited for.
    """
    for directory in Path("/proc").iterdir():
        if directory.name.isdecimal():
            with suppress(OSError):  # it has ended, or belongs to another user
                environ = _environ(directory, patience)
                # pid (name) state parent group session ...; the name may hold anything
                fields = (directory / "stat").read_bytes().rpartition(b")")[2].split()
                if fields[0] != b"Z":
                    yield ProcessInfo(int(directory.name), int(fields[1]), int(fields[3]), environ)


def _environ(process: Path, patience: float) -> bytes:
    """The environment of a process.

    While it becomes another program it has none that can be read, and would not be known by its
    mark: that is waited for. It takes milliseconds, or more on a busy machine.
    """
    while not (environ := (process / "environ").read_bytes()) and _is_in_exec(process):
        if time.monotonic() > patience:
            break
        time.sleep(_POLL_SECONDS)
    return environ


def _is_in_exec(process: Path) -> bool:
    """Whether it has a program, unlike kernel threads and zombies, but no command line yet."""
    try:
        return not (process / "cmdline").read_bytes() and bool((process / "exe").readlink())
    except OSError:
        return False


def _reap(source: int, mark: str, scratch: str) -> NoReturn:
    """Run the reaper to its exit: it must never return into the parent's code."""
    try:
        os.setsid()  # Ctrl-C in the terminal is not for the reaper
        signal.set_wakeup_fd(-1)  # shared with the parent's event loop
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for descriptor in Path("/proc/self/fd").iterdir():
            if int(descriptor.name) != source:
                with suppress(OSError):
                    os.close(int(descriptor.name))
        sessions: set[int] = set()
        while message := os.read(source, _SESSION.size):
            (number,) = _SESSION.unpack(message)
            (sessions.add if number > 0 else sessions.discard)(abs(number))
        kill(mark, sessions)
        shutil.rmtree(scratch, ignore_errors=True)
    finally:
        os._exit(0)
