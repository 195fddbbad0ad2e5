"""The runs that are kept on disk: found, brought up to date, deleted."""

import enum
import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from dlf.errors import JobNotFound, UsageError, similar
from dlf.local.process_identity import ProcessIdentity, this_place
from dlf.local.reaper import is_running, kill
from dlf.local.recorded_log import LogReader
from dlf.local.recorder import EVENTS, HEADER, LOGS, Recorder
from dlf.local.run_record import ContainerStarted, RunEvent, RunHeader, RunHistory
from dlf.logs.instances import Target
from dlf.logs.lines import LineBuffer
from dlf.logs.log_files import file_name

KEPT_RUNS = 20
"""Runs that are kept; the oldest ended ones make room when another one begins."""

STOP_SECONDS = 20.0
"""Seconds that a dlf gets after SIGTERM: it gives its pods 3, and the reader of its output 3."""

_POLL_SECONDS = 0.05
_READ_BYTES = 1 << 20


class Launcher(enum.Enum):
    """What became of the dlf that ran a job."""

    RUNNING = enum.auto()
    GONE = enum.auto()
    ELSEWHERE = enum.auto()  # another machine or container, which shares the directory


class StoredRun:
    """A run with its directory; `refresh` brings it up to date.

    Attributes:
        directory: of the run.
        history: what its events tell.
        launcher: whether its dlf still runs.

    Raises:
        OSError, msgspec.MsgspecError: there is no run in the directory.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        header = msgspec.json.decode((directory / HEADER).read_bytes(), type=RunHeader)
        self.history = RunHistory(header)
        self.launcher = Launcher.RUNNING
        self._position = 0
        self._lines = LineBuffer()
        self.refresh()

    @property
    def name(self) -> str:
        """Kind and name."""
        return f"{self.history.header.kind} {self.history.header.name}"

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected of it, as far as can be seen from here."""
        return self.history.end is not None or self.launcher is not Launcher.RUNNING

    def refresh(self) -> None:
        """Read the new events. The launcher comes first: what has gone has written all it will."""
        self.launcher = _launcher(self.history.header)
        with suppress(OSError), (self.directory / EVENTS).open("rb") as file:
            file.seek(self._position)
            while chunk := file.read(_READ_BYTES):
                self._position += len(chunk)
                for line in self._lines.feed(chunk).splitlines():
                    with suppress(msgspec.MsgspecError):  # of a later version
                        self.history.apply(msgspec.json.decode(line, type=RunEvent))

    def running(self) -> dict[str, ContainerStarted]:
        """The containers whose first process runs here, by pod."""
        if self.launcher is Launcher.ELSEWHERE:
            return {}
        found = self.history.open_instances()
        return {pod: each for pod, each in found.items() if each.process.is_alive()}

    def has_processes(self) -> bool:
        """Whether any process of it runs here, be it one that left its pod's session."""
        if self.launcher is Launcher.ELSEWHERE:
            return False
        return is_running(self.history.header.mark, self.sessions())

    def sessions(self) -> set[int]:
        """The sessions of the containers that run here."""
        return {each.process.pid for each in self.running().values()}

    def log(self, target: Target) -> LogReader:
        """A reader of what one start of a container has printed."""
        return LogReader(self.directory / LOGS, file_name(target))


def stored_runs(directory: Path | None) -> list[StoredRun]:
    """The runs in a directory, the newest first; what is no run is left out."""
    found = []
    for path in directory.iterdir() if directory and directory.is_dir() else ():
        with suppress(OSError, msgspec.MsgspecError):
            found.append(StoredRun(path))
    return sorted(found, key=lambda run: run.history.header.created, reverse=True)


def find_run(directory: Path | None, name: str) -> StoredRun:
    """The run of this name.

    Raises:
        JobNotFound: there is none; it proposes the nearest name.
    """
    runs = {run.history.header.name: run for run in stored_runs(directory)}
    if name not in runs:
        hint = similar(name, runs)
        raise JobNotFound(
            f"there is no job {name!r} on this machine",
            f"did you mean {hint}?" if hint else "see dlf list --runtime local",
        )
    return runs[name]


def open_record(
    directory: Path | None, header: RunHeader, notify: Callable[[str], None]
) -> Recorder:
    """Begin the record of a run; the oldest runs of which nothing is left make room.

    Args:
        directory: of all runs; None to keep nothing.
        header: of the run.
        notify: prints a line of dlf's own.
    """
    runs = stored_runs(directory)
    ended = [run for run in runs if run.history.end or run.launcher is Launcher.GONE]
    ended = [run for run in ended if run.history.end or not run.has_processes()]
    if any(run.history.header.name == header.name for run in runs if run not in ended):
        notify(f"another job {header.name} runs on this machine: this one is not kept for dlf list")
        directory = None
    for run in ended[KEPT_RUNS - 1 :]:
        shutil.rmtree(run.directory, ignore_errors=True)
    return Recorder(directory, header, notify)


def delete_run(run: StoredRun, notify: Callable[[str], None]) -> bool:
    """Stop a run if it goes on, kill what is left of it, and remove its record.

    Returns:
        Whether nothing of it is left.

    Raises:
        UsageError: its processes are out of reach.
    """
    header = run.history.header
    if run.launcher is Launcher.ELSEWHERE and not run.history.end:
        raise UsageError(
            f"{header.name!r} was started on {header.place.host}, whose processes cannot be seen"
            " from here",
            f"delete it there; or remove {run.directory}, if that is no more",
        )
    notify(f"deleting {run.name}")
    if run.launcher is Launcher.RUNNING and not run.history.end:  # else it ends by itself
        _stop(header.launcher)
        run.refresh()
    if run.launcher is not Launcher.ELSEWHERE:
        kill(header.mark, run.sessions())
        if run.has_processes():
            return False
        if header.mark in header.scratch:
            shutil.rmtree(header.scratch, ignore_errors=True)
    shutil.rmtree(run.directory, ignore_errors=True)
    return not run.directory.exists()


def _launcher(header: RunHeader) -> Launcher:
    here, there = this_place(), header.place
    if here == there:
        return Launcher.RUNNING if header.launcher.is_alive() else Launcher.GONE
    # After a restart of the machine nothing of before runs.
    restarted = here.host == there.host and here.boot != there.boot
    return Launcher.GONE if restarted else Launcher.ELSEWHERE


def _stop(launcher: ProcessIdentity) -> None:
    """SIGTERM, which lets the dlf stop its pods, and SIGKILL if it does not end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        with suppress(ProcessLookupError):
            if launcher.is_alive():
                os.kill(launcher.pid, number)
        while launcher.is_alive():
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)
