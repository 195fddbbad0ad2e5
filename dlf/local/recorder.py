"""Keeps a run on disk while it goes on: for `dlf list`, `status`, `logs` and `delete`.

A run is a directory of its name: `run.json` is its header, `events` has a JSON object a line, and
`logs` is what its containers print. Events are only ever appended, so a dlf that is killed leaves
a record that says how far it came. A record that cannot be written never ends a job.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from dlf.local.process_identity import identify
from dlf.local.recorded_log import LogPieces
from dlf.local.run_record import ContainerEnded, ContainerStarted, RunEvent, RunHeader, now
from dlf.logs.instances import Target
from dlf.logs.log_files import file_name

HEADER, EVENTS, LOGS = "run.json", "events", "logs"


def state_directory(env: Mapping[str, str]) -> Path | None:
    """Where runs are kept, by the XDG Base Directory Specification; None without a home."""
    state, home = env.get("XDG_STATE_HOME", ""), env.get("HOME", "")
    if state.startswith("/"):
        return Path(state, "dlf", "local")
    if home.startswith("/") and os.path.isdir(home):  # noqa: PTH112 - False where that raises
        return Path(home, ".local", "state", "dlf", "local")
    return None


class Recorder:
    """Writes one run. That something cannot be written is said once.

    Its log ends there. Events are tried on: a disk that was full may have room for the run's end.

    Args:
        directory: of all runs; None to keep nothing.
        header: of the run. A record of its name, which must be of no run that goes on, is replaced.
        notify: prints a line of dlf's own.
    """

    def __init__(
        self, directory: Path | None, header: RunHeader, notify: Callable[[str], None]
    ) -> None:
        self._notify = notify
        self._events: int | None = None
        self._logs: LogPieces | None = None
        self._has_failed = False
        if directory is None:
            return
        self._directory = directory
        run = directory / header.name
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if run.exists():
                shutil.rmtree(run)
            run.mkdir(mode=0o700)
            (run / LOGS).mkdir(mode=0o700)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._events = os.open(run / EVENTS, flags, 0o600)
            new = run / f"{HEADER}.new"
            new.write_bytes(msgspec.json.encode(header))
            new.rename(run / HEADER)  # from here on the run is listed
            self._logs = LogPieces(run / LOGS)
        except (OSError, UnicodeEncodeError) as error:
            self._fail(error)
            self.close()

    def container_started(self, target: Target, pid: int) -> None:
        """A container was started."""
        self.add(
            ContainerStarted(
                pod=target.pod,
                restart=target.restart,
                generation=target.generation,
                process=identify(pid),
                time=now(),
            )
        )

    def container_ended(self, pod: str, code: int, time: str, *, stopped: bool) -> None:
        """The container of a pod has ended; see `ContainerEnded`."""
        self.add(ContainerEnded(pod=pod, code=code, stopped=stopped, time=time))

    def add(self, event: RunEvent) -> None:
        """Something has happened."""
        if self._events is None:
            return
        begin = b"\n" if self._has_failed else b""  # there may be half a line
        try:
            line = begin + msgspec.json.encode(event) + b"\n"
            while line:  # a disk may take a part, and refuse the rest
                line = line[os.write(self._events, line) :]
        except (OSError, UnicodeEncodeError) as error:
            self._fail(error)

    def write_log(self, target: Target, lines: Sequence[bytes]) -> None:
        """A container has printed whole lines; they begin with their times."""
        if self._logs:
            try:
                self._logs.write(file_name(target), lines)
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Let go of the files. A file system over the network may refuse only now what it took."""
        if self._logs and (refused := self._logs.close()):
            self._fail(refused)
        self._logs = None
        if self._events is not None:
            try:
                os.close(self._events)
            except OSError as error:
                self._fail(error)
            self._events = None

    def _fail(self, error: OSError | UnicodeEncodeError) -> None:
        if self._logs:
            self._logs.close()
            self._logs = None
        if not self._has_failed:
            self._has_failed = True
            reason = "it has text that is not UTF-8"
            if isinstance(error, OSError):
                reason = error.strerror or str(error)
            self._notify(
                f"cannot keep a record of this run in {self._directory} ({reason}): the job goes"
                " on, but dlf list, status and logs will not know all of it; to keep the next one,"
                " set XDG_STATE_HOME to a directory that can be written"
            )
