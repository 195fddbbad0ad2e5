"""Keeps a run on disk while it goes on: for `dlf list`, `status`, `logs` and `delete`.

A run is a directory of its name: `run.json` is its header, `events` has a JSON object a line, and
`logs` is what its containers print. Events are only ever appended, so a dlf that is killed leaves
a record that says how far it came.
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
    if home.startswith("/") and Path(home).is_dir():
        return Path(home, ".local", "state", "dlf", "local")
    return None


class Recorder:
    """Writes one run. What cannot be written is said once; the run goes on without a record.

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
        if directory is None:
            return
        self._run = directory / header.name
        self._logs = LogPieces(self._run / LOGS)
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._run.exists():
                shutil.rmtree(self._run)
            (self._run / LOGS).mkdir(mode=0o700, parents=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._events = os.open(self._run / EVENTS, flags, 0o600)
            new = self._run / f"{HEADER}.new"
            new.write_bytes(msgspec.json.encode(header))
            new.rename(self._run / HEADER)  # from here on the run is listed
        except OSError as error:
            self._fail(error)

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
        if self._events is not None:
            try:
                os.write(self._events, msgspec.json.encode(event) + b"\n")
            except OSError as error:
                self._fail(error)

    def write_log(self, target: Target, lines: Sequence[bytes]) -> None:
        """A container has printed whole lines; they begin with their times."""
        if self._events is not None:
            try:
                self._logs.write(file_name(target), lines)
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Let go of the files."""
        if self._events is not None:
            os.close(self._events)
            self._events = None

    def _fail(self, error: OSError) -> None:
        self.close()
        self._notify(
            f"cannot write {self._run} ({error.strerror}): what follows is not kept for"
            " dlf list, status and logs"
        )
