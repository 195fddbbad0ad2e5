"""The runs that are kept on disk: found, and brought up to date."""

import enum
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from dlf.errors import JobNotFound, UsageError, similar
from dlf.local.process_identity import this_place
from dlf.local.reaper import running
from dlf.local.recorded_log import LogReader
from dlf.local.recorder import EVENTS, HEADER, LOGS
from dlf.local.run_record import ContainerStarted, RunEvent, RunHeader, RunHistory
from dlf.logs.instances import Target
from dlf.logs.lines import LineBuffer
from dlf.logs.log_files import file_name

_READ_BYTES = 1 << 20
_DAMAGED = (ValueError, RecursionError)  # what decoding raises; msgspec's errors are ValueErrors


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
        OSError, ValueError, RecursionError: there is no run in the directory.
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
                    with suppress(*_DAMAGED):  # or of a later version
                        self.history.apply(msgspec.json.decode(line, type=RunEvent))

    def running(self) -> dict[str, ContainerStarted]:
        """The containers whose first process runs here, by pod."""
        if self.launcher is Launcher.ELSEWHERE:
            return {}
        found = self.history.open_instances()
        return {pod: each for pod, each in found.items() if each.process.is_alive()}

    def processes(self) -> set[int]:
        """All of its processes that run here, also those that left their pod's session."""
        if self.launcher is Launcher.ELSEWHERE:
            return set()
        return running(self.history.header.mark, self.sessions())

    def sessions(self) -> set[int]:
        """The sessions of the containers that run here."""
        return {each.process.pid for each in self.running().values()}

    def ended_at(self) -> datetime | None:
        """When it ended: for a run that was killed, when something was kept of it last.

        None while something of it runs, and for one elsewhere of which no end is known.
        """
        if self.history.end:
            return datetime.fromisoformat(self.history.end.time)
        if self.launcher is not Launcher.GONE or self.processes():
            return None
        return self.written_at()

    def written_at(self) -> datetime:
        """When something was kept of it last."""
        return datetime.fromtimestamp(
            max((each.st_mtime for each in self._files()), default=0), UTC
        )

    def size(self) -> int:
        """Bytes of its files."""
        return sum(each.st_size for each in self._files())

    def log(self, target: Target) -> LogReader:
        """A reader of what one start of a container has printed."""
        return LogReader(self.directory / LOGS, file_name(target))

    def _files(self) -> Iterator[os.stat_result]:
        for directory in (self.directory, self.directory / LOGS):
            with suppress(OSError), os.scandir(directory) as entries:
                for entry in entries:
                    with suppress(OSError):  # it was removed just now
                        yield entry.stat(follow_symlinks=False)


def stored_runs(directory: Path | None) -> list[StoredRun]:
    """The runs in a directory, the newest first; what is no run is left out.

    Raises:
        UsageError: the directory cannot be read.
    """
    try:
        paths = list(directory.iterdir()) if directory else []
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(
            f"cannot read {directory}, where runs are kept: {error.strerror}",
            "set XDG_STATE_HOME to the directory that has them",
        ) from None
    found = []
    for path in paths:
        with suppress(OSError, *_DAMAGED):
            found.append(StoredRun(path))
    return sorted(found, key=lambda run: run.history.header.created, reverse=True)


def find_run(directory: Path | None, name: str) -> StoredRun:
    """The run of this name.

    Raises:
        JobNotFound: there is none; it proposes the nearest name.
        UsageError: the directory cannot be read.
    """
    runs = {run.history.header.name: run for run in stored_runs(directory)}
    if name not in runs:
        hint = similar(name, runs)
        raise JobNotFound(
            f"there is no job {name!r} on this machine",
            f"did you mean {hint}?" if hint else "see dlf list --runtime local",
        )
    return runs[name]


def _launcher(header: RunHeader) -> Launcher:
    here, there = this_place(), header.place
    if here.has_processes_of(there):
        return Launcher.RUNNING if header.launcher.is_alive() else Launcher.GONE
    # After a restart of the machine nothing of before runs.
    restarted = here.host == there.host and here.boot != there.boot
    return Launcher.GONE if restarted else Launcher.ELSEWHERE
