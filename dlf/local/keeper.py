"""No process of a job outlives dlf, however dlf ends: also killed, crashed, out of memory.

A fork of dlf, the keeper, waits for the end of a pipe whose other end only dlf holds. When dlf is
gone, or asks for it by closing the pipe, the keeper kills every process of the job and ends. It is
the only one that does, so that the way of a crash is the way of every day.

A process belongs to the job when its environment holds the job's mark, when it is in the session of
such a process, or when it is the child of one. That finds what left its process group, called
setsid, or was orphaned by a double fork. What none of the three holds for is not found: an orphan
that also has a session of its own and an environment without the mark.
"""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import msgspec

VARIABLE = "DLF_LOCAL_JOB"
"""The environment variable that carries the mark; a job within a job carries both."""

_PATIENCE = 10.0  # seconds; a process in an uninterruptible system call dies after that call
_PAUSE = 0.005


class Keeper:
    """The promise that processes with the mark end when this process does.

    Start it before there are threads: it is a fork.

    Args:
        mark: text that is in no other process's environment, such as 16 random bytes.
        scratch: directory that is removed last.
    """

    def __init__(self, mark: str, scratch: str) -> None:
        wait, self._hold = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            _keep(wait, mark.encode(), scratch)
        os.close(wait)

    def close(self) -> None:
        """Kill every process with the mark; return when they are gone, within seconds."""
        os.close(self._hold)
        os.waitpid(self._pid, 0)


def kill(mark: bytes) -> None:
    """Kill the processes with the mark, and theirs, until none is left or patience ends."""
    deadline = time.monotonic() + _PATIENCE
    while pids := _members(mark, _snapshot()):
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_PAUSE)


class _Seen(msgspec.Struct, frozen=True):
    """One process in /proc."""

    pid: int
    parent: int
    session: int
    environ: bytes


def _keep(wait: int, mark: bytes, scratch: str) -> NoReturn:
    """The keeper's whole life. It must not return into the program that it is a fork of."""
    try:
        os.setsid()  # Ctrl-C in the terminal is not for the keeper
        signal.set_wakeup_fd(-1)  # shared with the parent's event loop
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for descriptor in Path("/proc/self/fd").iterdir():
            if int(descriptor.name) != wait:
                with suppress(OSError):
                    os.close(int(descriptor.name))
        os.read(wait, 1)
        kill(mark)
        shutil.rmtree(scratch, ignore_errors=True)
    finally:
        os._exit(0)


def _snapshot() -> Iterator[_Seen]:
    """The processes whose environment may be read: this user's, or all for root."""
    for directory in Path("/proc").iterdir():
        if directory.name.isdecimal():
            with suppress(OSError):  # gone, or somebody else's
                environ = (directory / "environ").read_bytes()
                # pid (name) state parent group session ...; the name may hold anything
                fields = (directory / "stat").read_bytes().rpartition(b")")[2].split()
                if fields[0] != b"Z":
                    yield _Seen(int(directory.name), int(fields[1]), int(fields[3]), environ)


def _members(mark: bytes, processes: Iterator[_Seen]) -> set[int]:
    """Those with the mark, in a session of those, or below them; never this process."""
    seen = list(processes)
    found = {process.pid for process in seen if mark in process.environ}
    sessions = {process.session for process in seen if process.pid in found}
    found |= {process.pid for process in seen if process.session in sessions}
    size = 0
    while size < len(found):
        size = len(found)
        found |= {process.pid for process in seen if process.parent in found}
    return found - {os.getpid()}
